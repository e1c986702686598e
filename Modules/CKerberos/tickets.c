#include "internal.h"

int32_t sk_adopt(krb5_context context, krb5_creds *creds, sk_ticket **out) {
    sk_ticket *ticket = calloc(1, sizeof *ticket);
    if (ticket == NULL) {
        krb5_free_cred_contents(context, creds);
        return ENOMEM;
    }
    ticket->creds = *creds;
    *creds = (krb5_creds){0};
    *out = ticket;
    return 0;
}

void sk_ticket_free(sk_ticket *ticket) {
    if (ticket == NULL) return;
    krb5_free_cred_contents(NULL, &ticket->creds);
    free(ticket);
}

sk_ticket_facts sk_ticket_look(const sk_ticket *ticket) {
    const krb5_ticket_times *times = &ticket->creds.times;
    // Unsigned, so that the times beyond 2038 stay times.
    return (sk_ticket_facts){
        .starts = (uint32_t)(times->starttime ? times->starttime : times->authtime),
        .ends = (uint32_t)times->endtime,
        .renewable_until = (uint32_t)times->renew_till,
        .flags = (uint32_t)ticket->creds.ticket_flags};
}

int32_t sk_name(krb5_context context, krb5_const_principal principal, sk_bytes *out) {
    char *text = NULL;
    int32_t code = krb5_unparse_name(context, principal, &text);
    if (code) return code;
    code = sk_copy(text, strlen(text), out);
    krb5_free_unparsed_name(context, text);
    return code;
}

int32_t sk_ticket_client(sk_context *context, const sk_ticket *ticket, sk_bytes *out) {
    return sk_name(context->krb5, ticket->creds.client, out);
}

int32_t sk_ticket_server(sk_context *context, const sk_ticket *ticket, sk_bytes *out) {
    return sk_name(context->krb5, ticket->creds.server, out);
}

static int is_granting(krb5_const_principal server) {
    return server->length == 2 && server->data[0].length == KRB5_TGS_NAME_SIZE
        && memcmp(server->data[0].data, KRB5_TGS_NAME, KRB5_TGS_NAME_SIZE) == 0;
}

int sk_ticket_is_granting(const sk_ticket *ticket) { return is_granting(ticket->creds.server); }

int32_t sk_ticket_marshal(sk_context *context, const sk_ticket *ticket, sk_bytes *out) {
    krb5_data *data = NULL;
    int32_t code = krb5_marshal_credentials(context->krb5, (krb5_creds *)&ticket->creds, &data);
    if (code) return code;
    code = sk_copy(data->data, data->length, out);
    explicit_bzero(data->data, data->length);
    krb5_free_data(context->krb5, data);
    return code;
}

int32_t sk_ticket_unmarshal(sk_context *context, const uint8_t *bytes, size_t count, sk_ticket **out) {
    krb5_data data = {.length = (unsigned)count, .data = (char *)bytes};
    krb5_creds *creds = NULL;
    int32_t code = krb5_unmarshal_credentials(context->krb5, &data, &creds);
    if (code) return code;
    code = sk_adopt(context->krb5, creds, out);
    free(creds);
    return code;
}

int32_t sk_cache_of(krb5_context context, const sk_ticket *granting, krb5_ccache *out) {
    krb5_creds *creds = (krb5_creds *)&granting->creds;
    int32_t code = krb5_cc_new_unique(context, "MEMORY", NULL, out);
    if (code) return code;
    code = krb5_cc_initialize(context, *out, creds->client);
    if (!code) code = krb5_cc_store_cred(context, *out, creds);
    if (!code) return 0;
    krb5_cc_destroy(context, *out);
    *out = NULL;
    return code;
}
