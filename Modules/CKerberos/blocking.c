#include "internal.h"

// What blocks: the library asks for a KDC's answer in the midst of a call.

typedef struct {
    sk_send send;
    void *who;
} sender;

static krb5_error_code send_hook(
    krb5_context context, void *data, const krb5_data *realm, const krb5_data *message, krb5_data **new_message,
    krb5_data **new_reply) {
    (void)context;
    (void)new_message;
    const sender *sender = data;
    uint8_t *answer = NULL;
    size_t count = 0;
    int32_t code = sender->send(
        sender->who, (const uint8_t *)realm->data, realm->length, (const uint8_t *)message->data, message->length,
        &answer, &count);
    if (code) return code;
    // Without an answer the library would look for the KDC by itself.
    krb5_data *reply = answer != NULL ? calloc(1, sizeof *reply) : NULL;
    if (reply == NULL) {
        free(answer);
        return KRB5_KDC_UNREACH;
    }
    *reply = (krb5_data){.length = (unsigned)count, .data = (char *)answer};
    *new_reply = reply;
    return 0;
}

int32_t sk_renew(sk_context *context, const sk_ticket *granting, sk_send send, void *who, sk_ticket **out) {
    krb5_ccache cache = NULL;
    int32_t code = sk_cache_of(context->krb5, granting, &cache);
    if (code) return code;
    sender sender = {send, who};
    krb5_creds creds = {0};
    krb5_set_kdc_send_hook(context->krb5, send_hook, &sender);
    code = krb5_get_renewed_creds(context->krb5, &creds, granting->creds.client, cache, NULL);
    krb5_set_kdc_send_hook(context->krb5, NULL, NULL);
    krb5_cc_destroy(context->krb5, cache);
    return code ? code : sk_adopt(context->krb5, &creds, out);
}

static int32_t forward(
    krb5_context context, krb5_auth_context auth, const sk_ticket *granting, krb5_ccache cache, krb5_creds ***out) {
    // The message never leaves this function, but the library seals it by some key.
    krb5_keyblock key = {0};
    int32_t code = krb5_c_make_random_key(context, granting->creds.keyblock.enctype, &key);
    if (code) return code;
    code = krb5_auth_con_setuseruserkey(context, auth, &key);
    krb5_free_keyblock_contents(context, &key);
    if (!code) code = krb5_auth_con_setflags(context, auth, 0);
    krb5_data message = {0};
    if (!code)
        code = krb5_fwd_tgt_creds(
            context, auth, "localhost", granting->creds.client, granting->creds.server, cache, 1, &message);
    if (code) return code;
    code = krb5_rd_cred(context, auth, &message, out, NULL);
    krb5_free_data_contents(context, &message);
    return code;
}

int32_t sk_forward(sk_context *context, const sk_ticket *granting, sk_send send, void *who, sk_ticket **out) {
    krb5_ccache cache = NULL;
    int32_t code = sk_cache_of(context->krb5, granting, &cache);
    if (code) return code;
    sender sender = {send, who};
    krb5_auth_context auth = NULL;
    krb5_creds **creds = NULL;
    code = krb5_auth_con_init(context->krb5, &auth);
    krb5_set_kdc_send_hook(context->krb5, send_hook, &sender);
    if (!code) code = forward(context->krb5, auth, granting, cache, &creds);
    krb5_set_kdc_send_hook(context->krb5, NULL, NULL);
    if (auth != NULL) krb5_auth_con_free(context->krb5, auth);
    krb5_cc_destroy(context->krb5, cache);
    if (code) return code;
    code = creds[0] != NULL ? sk_adopt(context->krb5, creds[0], out) : KRB5_NO_TKT_SUPPLIED;
    krb5_free_tgt_creds(context->krb5, creds);
    return code;
}
