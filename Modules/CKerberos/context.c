#include "internal.h"

#include <profile.h>
#include <time.h>

const int32_t sk_wrong_password = KRB5KRB_AP_ERR_BAD_INTEGRITY, sk_unknown_client = KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN,
              sk_unknown_service = KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, sk_expired = KRB5KRB_AP_ERR_TKT_EXPIRED,
              sk_skew = KRB5KRB_AP_ERR_SKEW, sk_not_renewable = KRB5KDC_ERR_BADOPTION,
              sk_preauth_failed = KRB5KDC_ERR_PREAUTH_FAILED, sk_key_expired = KRB5KDC_ERR_KEY_EXP,
              sk_revoked = KRB5KDC_ERR_CLIENT_REVOKED, sk_no_key = KRB5_KT_NOTFOUND, sk_aborted = KRB5_KDC_UNREACH,
              sk_coding_errors = ASN1_BAD_TIMEFORMAT, sk_modified = KRB5_KDCREP_MODIFIED;

void sk_clear(void *memory, size_t count) { explicit_bzero(memory, count); }

void sk_bytes_free(sk_bytes *bytes) {
    if (bytes->bytes != NULL) explicit_bzero(bytes->bytes, bytes->count);
    free(bytes->bytes);
    *bytes = (sk_bytes){0};
}

int32_t sk_copy(const void *bytes, size_t count, sk_bytes *out) {
    *out = (sk_bytes){0};
    uint8_t *made = malloc(count ? count : 1);
    if (made == NULL) return ENOMEM;
    if (count) memcpy(made, bytes, count);
    *out = (sk_bytes){made, count};
    return 0;
}

// The profile: what krb5.conf would say.

typedef struct {
    const char *section, *name, *value;
} setting;

static const setting settings[] = {
    {"libdefaults", "dns_lookup_kdc", "false"},
    {"libdefaults", "dns_lookup_realm", "false"},
    {"libdefaults", "dns_uri_lookup", "false"},
    {"libdefaults", "dns_canonicalize_hostname", "false"},
    {"libdefaults", "rdns", "false"},
    {"libdefaults", "qualify_shortname", ""},
    {"libdefaults", "noaddresses", "true"},
    {"libdefaults", "udp_preference_limit", "1"},
    {"libdefaults", "canonicalize", "false"},
    {"libdefaults", "allow_weak_crypto", "false"},
    {"libdefaults", "ignore_acceptor_hostname", "false"},
    {"libdefaults", "default_ccache_name", "MEMORY:sallyport"},
    {"libdefaults", "default_keytab_name", "MEMORY:sallyport"},
    {"libdefaults", "default_client_keytab_name", "MEMORY:sallyport"},
    {"libdefaults", "plugin_base_dir", "/dev/null/none"},
};

static const char *setting_of(const char *const *names) {
    if (names[0] == NULL || names[1] == NULL) return NULL;
    // What sends by itself looks for a KDC before it asks `send_hook`, which answers in its place, always.
    if (names[2] != NULL && names[3] == NULL && !strcmp(names[0], "realms") && !strcmp(names[2], "kdc"))
        return "127.0.0.1:1";
    if (names[2] != NULL) return NULL;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!strcmp(settings[i].section, names[0]) && !strcmp(settings[i].name, names[1])) return settings[i].value;
    return NULL;
}

static long profile_values(void *data, const char *const *names, char ***out) {
    (void)data;
    const char *value = setting_of(names);
    if (value == NULL) return PROF_NO_RELATION;
    char **values = calloc(2, sizeof *values);
    if (values == NULL) return ENOMEM;
    values[0] = strdup(value);
    if (values[0] == NULL) {
        free(values);
        return ENOMEM;
    }
    *out = values;
    return 0;
}

static void profile_free_values(void *data, char **values) {
    (void)data;
    for (char **value = values; value != NULL && *value != NULL; value++) free(*value);
    free(values);
}

int32_t sk_context_make(sk_context **out) {
    *out = NULL;
    struct profile_vtable table = {
        .minor_ver = 1, .get_values = profile_values, .free_values = profile_free_values};
    profile_t profile = NULL;
    long code = profile_init_vtable(&table, NULL, &profile);
    if (code) return (int32_t)code;
    sk_context *context = calloc(1, sizeof *context);
    if (context == NULL) {
        profile_abandon(profile);
        return ENOMEM;
    }
    // The context keeps a copy.
    code = krb5_init_context_profile(profile, KRB5_INIT_CONTEXT_SECURE, &context->krb5);
    profile_abandon(profile);
    if (code) {
        free(context);
        return (int32_t)code;
    }
    *out = context;
    return 0;
}

void sk_context_free(sk_context *context) {
    if (context == NULL) return;
    krb5_free_context(context->krb5);
    free(context);
}

void sk_describe(sk_context *context, int32_t code, char *out, size_t count) {
    const char *text = krb5_get_error_message(context->krb5, code);
    strncpy(out, text ? text : "", count - 1);
    out[count - 1] = 0;
    krb5_free_error_message(context->krb5, text);
}

int32_t sk_set_offset(sk_context *context, int32_t seconds) {
    // -1 leaves the clock's microseconds alone. With a fixed value, two tokens of one second could carry the same ones.
    return seconds == 0 ? 0 : krb5_set_real_time(context->krb5, (krb5_timestamp)(time(NULL) + seconds), -1);
}

int32_t sk_offset(sk_context *context) {
    krb5_timestamp seconds = 0;
    krb5_int32 microseconds = 0;
    return krb5_get_time_offsets(context->krb5, &seconds, &microseconds) ? 0 : seconds;
}
