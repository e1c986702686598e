#include "internal.h"

int32_t sk_open_keytab(krb5_context context, const char *path, krb5_keytab *out) {
    size_t count = strlen(path) + sizeof "FILE:";
    char *keytab = malloc(count);
    if (keytab == NULL) return ENOMEM;
    memcpy(keytab, "FILE:", 5);
    memcpy(keytab + 5, path, count - 5);
    int32_t code = krb5_kt_resolve(context, keytab, out);
    free(keytab);
    return code;
}

int32_t sk_cache_read(sk_context *context, const char *path, sk_ticket **tickets, size_t limit, size_t *count) {
    *count = 0;
    size_t length = strlen(path) + sizeof "FILE:";
    char *full = malloc(length);
    if (full == NULL) return ENOMEM;
    memcpy(full, "FILE:", 5);
    memcpy(full + 5, path, length - 5);
    krb5_ccache cache = NULL;
    int32_t code = krb5_cc_resolve(context->krb5, full, &cache);
    free(full);
    if (code) return code;
    krb5_cc_cursor cursor = NULL;
    code = krb5_cc_start_seq_get(context->krb5, cache, &cursor);
    if (!code) {
        krb5_creds creds = {0};
        while (*count < limit && !(code = krb5_cc_next_cred(context->krb5, cache, &cursor, &creds))) {
            if (krb5_is_config_principal(context->krb5, creds.server)) {
                krb5_free_cred_contents(context->krb5, &creds);
                continue;
            }
            if (sk_adopt(context->krb5, &creds, &tickets[*count])) break;
            *count += 1;
        }
        krb5_cc_end_seq_get(context->krb5, cache, &cursor);
        if (code == KRB5_CC_END) code = 0;
    }
    krb5_cc_close(context->krb5, cache);
    return code;
}

int32_t sk_keytab_client(sk_context *context, const char *path, sk_bytes *out) {
    krb5_keytab keytab = NULL;
    int32_t code = sk_open_keytab(context->krb5, path, &keytab);
    if (code) return code;
    krb5_kt_cursor cursor = NULL;
    code = krb5_kt_start_seq_get(context->krb5, keytab, &cursor);
    if (!code) {
        krb5_keytab_entry entry = {0};
        code = krb5_kt_next_entry(context->krb5, keytab, &entry, &cursor);
        if (!code) {
            code = sk_name(context->krb5, entry.principal, out);
            krb5_free_keytab_entry_contents(context->krb5, &entry);
        }
        krb5_kt_end_seq_get(context->krb5, keytab, &cursor);
    }
    krb5_kt_close(context->krb5, keytab);
    return code;
}
