#include "internal.h"

struct sk_proof {
    krb5_auth_context auth;
    krb5_context krb5;
};

void sk_proof_free(sk_proof *proof) {
    if (proof == NULL) return;
    // Does not look at the context but for a replay cache, which there is none of.
    if (proof->auth != NULL) krb5_auth_con_free(NULL, proof->auth);
    free(proof);
}

typedef struct {
    const sk_token_options *options;
    const sk_ticket *ticket;
    krb5_data data;
    uint8_t *bytes;
} checksum;

enum { gss_delegation = 1, gss_mutual = 2, gss_replay = 4, gss_sequence = 8 };

static void little(uint8_t *out, uint32_t number, int count) {
    for (int i = 0; i < count; i++) out[i] = (uint8_t)(number >> (8 * i));
}

static int32_t hash(krb5_context context, const sk_token_options *options, uint8_t *out) {
    krb5_data data = {.length = (unsigned)options->binding_count, .data = (char *)options->binding};
    krb5_checksum sum = {0};
    int32_t code = krb5_c_make_checksum(context, CKSUMTYPE_RSA_MD5, NULL, 0, &data, &sum);
    if (!code && sum.length != 16) code = KRB5_BAD_MSIZE;
    if (!code) memcpy(out, sum.contents, 16);
    krb5_free_checksum_contents(context, &sum);
    return code;
}

// A ticket that the service may use, as a KRB-CRED without times or numbers of its own. RFC 4121 §4.1.1.1 wants it
// sealed by the session key. The library takes the subkey, which some services do not try, while there is one.
static int32_t make_delegation(krb5_context context, krb5_auth_context auth, const sk_ticket *ticket, krb5_data *out) {
    krb5_key subkey = NULL;
    int32_t code = krb5_auth_con_getsendsubkey_k(context, auth, &subkey);
    if (code) return code;
    krb5_int32 flags = 0;
    krb5_auth_con_getflags(context, auth, &flags);
    krb5_auth_con_setflags(context, auth, 0);
    krb5_auth_con_setsendsubkey_k(context, auth, NULL);
    krb5_data *made = NULL;
    code = krb5_mk_1cred(context, auth, (krb5_creds *)&ticket->creds, &made, NULL);
    krb5_auth_con_setsendsubkey_k(context, auth, subkey);
    krb5_k_free_key(context, subkey);
    krb5_auth_con_setflags(context, auth, flags);
    if (code) return code;
    *out = *made;
    free(made);
    if (out->length <= 0xffff) return 0;
    krb5_free_data_contents(context, out);
    return KRB5KRB_ERR_FIELD_TOOLONG;
}

// RFC 4121 §4.1.1.
static krb5_error_code make_checksum(krb5_context context, krb5_auth_context auth, void *data, krb5_data **out) {
    checksum *sum = data;
    krb5_data message = {0};
    if (sum->options->delegated != NULL) {
        int32_t code = make_delegation(context, auth, sum->options->delegated, &message);
        if (code) return code;
    }
    size_t count = 24 + (message.length ? 4 + message.length : 0);
    sum->bytes = calloc(1, count);
    if (sum->bytes == NULL) {
        krb5_free_data_contents(context, &message);
        return ENOMEM;
    }
    little(sum->bytes, 16, 4);
    int32_t code = sum->options->binding != NULL ? hash(context, sum->options, sum->bytes + 4) : 0;
    if (code) {
        krb5_free_data_contents(context, &message);
        return code;
    }
    uint32_t flags = gss_mutual | gss_replay | gss_sequence | (message.length ? gss_delegation : 0);
    little(sum->bytes + 20, flags, 4);
    if (message.length) {
        little(sum->bytes + 24, 1, 2);
        little(sum->bytes + 26, message.length, 2);
        memcpy(sum->bytes + 28, message.data, message.length);
        krb5_free_data_contents(context, &message);
    }
    sum->data = (krb5_data){.length = (unsigned)count, .data = (char *)sum->bytes};
    *out = &sum->data;
    return 0;
}

static int32_t make_token(krb5_context context, krb5_auth_context auth, checksum *sum, sk_bytes *out) {
    int32_t code = krb5_auth_con_set_req_cksumtype(context, auth, 0x8003);
    if (!code) code = krb5_auth_con_setflags(context, auth, KRB5_AUTH_CONTEXT_DO_SEQUENCE);
    if (!code) code = krb5_auth_con_set_checksum_func(context, auth, make_checksum, sum);
    if (code) return code;
    krb5_data message = {0};
    code = krb5_mk_req_extended(
        context, &auth, AP_OPTS_MUTUAL_REQUIRED | AP_OPTS_USE_SUBKEY, NULL, (krb5_creds *)&sum->ticket->creds,
        &message);
    if (code) return code;
    code = sk_copy(message.data, message.length, out);
    krb5_free_data_contents(context, &message);
    return code;
}

int32_t sk_token_make(
    sk_context *context, const sk_ticket *ticket, const sk_token_options *options, sk_bytes *out, sk_proof **proof) {
    *out = (sk_bytes){0};
    sk_proof *made = calloc(1, sizeof *made);
    if (made == NULL) return ENOMEM;
    int32_t code = krb5_auth_con_init(context->krb5, &made->auth);
    if (!code) {
        checksum sum = {.options = options, .ticket = ticket};
        code = make_token(context->krb5, made->auth, &sum, out);
        // It lies on this function's stack.
        krb5_auth_con_set_checksum_func(context->krb5, made->auth, NULL, NULL);
        if (sum.bytes != NULL) {
            explicit_bzero(sum.bytes, sum.data.length);
            free(sum.bytes);
        }
    }
    if (code) {
        sk_proof_free(made);
        return code;
    }
    *proof = made;
    return 0;
}

int32_t sk_proof_check(sk_context *context, sk_proof *proof, const uint8_t *answer, size_t count) {
    krb5_data data = {.length = (unsigned)count, .data = (char *)answer};
    krb5_ap_rep_enc_part *part = NULL;
    int32_t code = krb5_rd_rep(context->krb5, proof->auth, &data, &part);
    if (!code) krb5_free_ap_rep_enc_part(context->krb5, part);
    return code;
}

static int is_same(const uint8_t *left, const uint8_t *right, size_t count) {
    uint8_t difference = 0;
    for (size_t i = 0; i < count; i++) difference |= left[i] ^ right[i];
    return difference == 0;
}

int32_t sk_proof_check_mic(
    sk_context *context, sk_proof *proof, const uint8_t *message, size_t count, const uint8_t *mic, size_t mic_count) {
    enum { header = 16, by_acceptor = 1, is_sealed = 2, with_subkey = 4, usage_acceptor_sign = 23 };
    if (mic_count <= header || mic[0] != 4 || mic[1] != 4) return KRB5KRB_AP_ERR_MSG_TYPE;
    if (!(mic[2] & by_acceptor) || (mic[2] & is_sealed)) return KRB5KRB_AP_ERR_BADDIRECTION;
    for (int i = 3; i < 8; i++)
        if (mic[i] != 0xff) return KRB5KRB_AP_ERR_MSG_TYPE;
    krb5_key key = NULL;
    int32_t code = mic[2] & with_subkey ? krb5_auth_con_getrecvsubkey_k(context->krb5, proof->auth, &key)
                                        : krb5_auth_con_getsendsubkey_k(context->krb5, proof->auth, &key);
    if (code) return code;
    if (key == NULL) return KRB5KRB_AP_ERR_NOKEY;
    uint8_t *signed_bytes = malloc(count + header);
    if (signed_bytes == NULL) code = ENOMEM;
    if (!code) {
        memcpy(signed_bytes, message, count);
        memcpy(signed_bytes + count, mic, header);
        krb5_data data = {.length = (unsigned)(count + header), .data = (char *)signed_bytes};
        krb5_checksum sum = {0};
        // 0: the type that the key's encryption type demands.
        code = krb5_k_make_checksum(context->krb5, 0, key, usage_acceptor_sign, &data, &sum);
        if (!code && (sum.length != mic_count - header || !is_same(sum.contents, mic + header, sum.length)))
            code = KRB5KRB_AP_ERR_MODIFIED;
        krb5_free_checksum_contents(context->krb5, &sum);
    }
    free(signed_bytes);
    krb5_k_free_key(context->krb5, key);
    return code;
}
