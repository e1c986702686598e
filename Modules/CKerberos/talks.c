#include "internal.h"

struct sk_talk {
    krb5_context krb5;
    krb5_init_creds_context sign_in;
    krb5_get_init_creds_opt *options;
    krb5_keytab keytab;
    krb5_tkt_creds_context ask;
    krb5_ccache cache;
};

void sk_talk_free(sk_talk *talk) {
    if (talk == NULL) return;
    if (talk->sign_in != NULL) krb5_init_creds_free(talk->krb5, talk->sign_in);
    if (talk->options != NULL) krb5_get_init_creds_opt_free(talk->krb5, talk->options);
    if (talk->keytab != NULL) krb5_kt_close(talk->krb5, talk->keytab);
    if (talk->ask != NULL) krb5_tkt_creds_free(talk->krb5, talk->ask);
    if (talk->cache != NULL) krb5_cc_destroy(talk->krb5, talk->cache);
    free(talk);
}

static int32_t begin_sign_in(sk_talk *talk, krb5_principal client, const sk_sign_in *who) {
    int32_t code = krb5_get_init_creds_opt_alloc(talk->krb5, &talk->options);
    if (code) return code;
    krb5_get_init_creds_opt_set_forwardable(talk->options, who->forwardable ? 1 : 0);
    krb5_get_init_creds_opt_set_proxiable(talk->options, 0);
    // As long as the realm allows.
    krb5_get_init_creds_opt_set_renew_life(talk->options, 365 * 24 * 3600);
    krb5_get_init_creds_opt_set_address_list(talk->options, NULL);
    code = krb5_init_creds_init(talk->krb5, client, NULL, NULL, 0, talk->options, &talk->sign_in);
    if (code) return code;
    if (who->password != NULL) return krb5_init_creds_set_password(talk->krb5, talk->sign_in, who->password);
    code = sk_open_keytab(talk->krb5, who->keytab, &talk->keytab);
    // The library passes over a file that it cannot read, until the KDC's answer needs the key.
    if (!code) code = krb5_kt_have_content(talk->krb5, talk->keytab);
    return code ? code : krb5_init_creds_set_keytab(talk->krb5, talk->sign_in, talk->keytab);
}

int32_t sk_talk_sign_in(sk_context *context, const sk_sign_in *who, sk_talk **out) {
    if ((who->password == NULL) == (who->keytab == NULL)) return EINVAL;
    krb5_principal client = NULL;
    int32_t code = krb5_parse_name_flags(context->krb5, who->client, KRB5_PRINCIPAL_PARSE_REQUIRE_REALM, &client);
    if (code) return code;
    sk_talk *talk = calloc(1, sizeof *talk);
    if (talk == NULL) {
        krb5_free_principal(context->krb5, client);
        return ENOMEM;
    }
    talk->krb5 = context->krb5;
    code = begin_sign_in(talk, client, who);
    krb5_free_principal(context->krb5, client);
    if (code) {
        sk_talk_free(talk);
        return code;
    }
    *out = talk;
    return 0;
}

static int32_t begin_ask(sk_talk *talk, const sk_ticket *granting, krb5_principal server) {
    krb5_creds *creds = (krb5_creds *)&granting->creds;
    int32_t code = sk_cache_of(talk->krb5, granting, &talk->cache);
    if (code) return code;
    krb5_creds wanted = {.client = creds->client, .server = server};
    return krb5_tkt_creds_init(talk->krb5, talk->cache, &wanted, KRB5_GC_NO_STORE, &talk->ask);
}

int32_t sk_talk_ask(
    sk_context *context, const sk_ticket *granting, const char *service, const char *host, sk_talk **out) {
    krb5_principal server = NULL;
    // Where the KDC knows no realm of the host, it is the client's: the library never guesses one out of the name.
    const krb5_data *home = &granting->creds.client->realm;
    char *realm = strndup(home->data, home->length);
    if (realm == NULL) return ENOMEM;
    int32_t code = krb5_set_default_realm(context->krb5, realm);
    free(realm);
    if (code) return code;
    // No realm: the KDC says which.
    code = krb5_build_principal(context->krb5, &server, 0, "", service, host, (char *)NULL);
    if (code) return code;
    server->type = KRB5_NT_SRV_HST;
    sk_talk *talk = calloc(1, sizeof *talk);
    if (talk == NULL) {
        krb5_free_principal(context->krb5, server);
        return ENOMEM;
    }
    talk->krb5 = context->krb5;
    code = begin_ask(talk, granting, server);
    krb5_free_principal(context->krb5, server);
    if (code) {
        sk_talk_free(talk);
        return code;
    }
    *out = talk;
    return 0;
}

int32_t sk_talk_step(
    sk_talk *talk, const uint8_t *answer, size_t count, sk_bytes *message, sk_bytes *realm, int *is_done) {
    *message = *realm = (sk_bytes){0};
    krb5_data in = {.length = (unsigned)count, .data = (char *)answer}, out = {0}, where = {0};
    unsigned flags = 0;
    int32_t code = talk->sign_in != NULL
        ? krb5_init_creds_step(talk->krb5, talk->sign_in, &in, &out, &where, &flags)
        : krb5_tkt_creds_step(talk->krb5, talk->ask, &in, &out, &where, &flags);
    // The same bit for both.
    *is_done = !(flags & KRB5_INIT_CREDS_STEP_FLAG_CONTINUE);
    if (!code && !*is_done) {
        code = sk_copy(out.data, out.length, message);
        if (!code) code = sk_copy(where.data, where.length, realm);
        if (code) sk_bytes_free(message);
    }
    krb5_free_data_contents(talk->krb5, &out);
    krb5_free_data_contents(talk->krb5, &where);
    return code;
}

int32_t sk_talk_ticket(sk_talk *talk, sk_ticket **out) {
    krb5_creds creds = {0};
    int32_t code = talk->sign_in != NULL ? krb5_init_creds_get_creds(talk->krb5, talk->sign_in, &creds)
                                         : krb5_tkt_creds_get_creds(talk->krb5, talk->ask, &creds);
    return code ? code : sk_adopt(talk->krb5, &creds, out);
}

int sk_is_served(const uint8_t *answer, size_t count) {
    // RFC 4120 §5.4.2.
    enum { as_rep = 0x6b, tgs_rep = 0x6d };
    if (count == 0) return 0;
    if (answer[0] == as_rep || answer[0] == tgs_rep) return 1;
    krb5_data data = {.length = (unsigned)count, .data = (char *)answer};
    krb5_error *error = NULL;
    // Refuses everything else than a KRB-ERROR. Neither of the two looks at the context.
    if (krb5_rd_error(NULL, &data, &error)) return 0;
    int is_served = error->error != KRB5KDC_ERR_SVC_UNAVAILABLE - ERROR_TABLE_BASE_krb5;
    krb5_free_error(NULL, error);
    return is_served;
}
