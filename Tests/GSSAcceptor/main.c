// A service that takes tokens of GSS-API: for what no web server here says.
//
//   GSSAcceptor KEYTAB [CERTIFICATE-HASH]
//
// With a hash, in hexadecimal, tokens must be bound to `tls-server-end-point` of it. Reads hexadecimal tokens, one a line,
// each of a context of its own, and answers a line each: `accepted USER TOKEN CODE FLAGS DELEGATED SEALED`, where CODE
// is that of the service over the bytes "message", and SEALED is 1 if a delegated ticket opens by the session key
// alone; or `refused MAJOR`.

#define _GNU_SOURCE
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <krb5/krb5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t read_hex(const char *text, unsigned char *out, size_t capacity) {
    size_t count = 0;
    unsigned octet;
    while (count < capacity && sscanf(text + 2 * count, "%2x", &octet) == 1) out[count++] = (unsigned char)octet;
    return count;
}

static void print_hex(gss_buffer_t buffer) {
    const unsigned char *octets = buffer->value;
    if (buffer->length == 0) printf("-");
    for (size_t i = 0; i < buffer->length; i++) printf("%02x", octets[i]);
}

static gss_cred_id_t credential(const char *keytab) {
    OM_uint32 minor;
    gss_cred_id_t made = GSS_C_NO_CREDENTIAL;
    gss_key_value_element_desc elements[] = {{"keytab", keytab}, {"rcache", "none:"}};
    gss_key_value_set_desc store = {2, elements};
    OM_uint32 major = gss_acquire_cred_from(
        &minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, GSS_C_NO_OID_SET, GSS_C_ACCEPT, &store, &made, NULL, NULL);
    if (GSS_ERROR(major)) {
        fprintf(stderr, "no credential: %x %u\n", major, minor);
        exit(1);
    }
    return made;
}

// The KRB-CRED in the checksum of GSS-API (RFC 4121 §4.1.1); empty if there is none.
static krb5_data delegation(const krb5_checksum *checksum) {
    enum { at_flags = 20, at_length = 26, header = 28 };
    const unsigned char *bytes = checksum->contents;
    if (checksum->length < header || !(bytes[at_flags] & GSS_C_DELEG_FLAG)) return (krb5_data){0};
    unsigned length = bytes[at_length] | (unsigned)bytes[at_length + 1] << 8;
    if (checksum->length - header < length) return (krb5_data){0};
    return (krb5_data){.length = length, .data = (char *)bytes + header};
}

static int opens_by(krb5_context krb5, krb5_keyblock *key, krb5_data message) {
    krb5_auth_context alone = NULL;
    krb5_creds **creds = NULL;
    krb5_error_code code = krb5_auth_con_init(krb5, &alone);
    if (!code) code = krb5_auth_con_setflags(krb5, alone, 0);
    if (!code) code = krb5_auth_con_setuseruserkey(krb5, alone, key);
    if (!code) code = krb5_rd_cred(krb5, alone, &message, &creds, NULL);
    if (!code) krb5_free_tgt_creds(krb5, creds);
    if (alone != NULL) krb5_auth_con_free(krb5, alone);
    return code == 0;
}

// The AP-REQ is the end of the token.
static krb5_data request_in(gss_buffer_t token) {
    static const unsigned char head[] = {6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2, 1, 0};
    char *found = memmem(token->value, token->length, head, sizeof head);
    if (found == NULL) return (krb5_data){0};
    found += sizeof head;
    return (krb5_data){.length = (unsigned)((char *)token->value + token->length - found), .data = found};
}

// GSS-API opens a delegated ticket by the subkey too, and does not say by which key it did.
static int is_sealed_by_session_key(const char *path, gss_buffer_t token) {
    krb5_context krb5 = NULL;
    krb5_keytab keytab = NULL;
    krb5_auth_context auth = NULL;
    krb5_authenticator *authenticator = NULL;
    krb5_keyblock *session = NULL;
    krb5_data request = request_in(token);
    int is_sealed = 0;
    if (request.length == 0 || krb5_init_context(&krb5)) return 0;
    krb5_error_code code = krb5_kt_resolve(krb5, path, &keytab);
    if (!code) code = krb5_auth_con_init(krb5, &auth);
    // Without times, no replay cache is kept.
    if (!code) code = krb5_auth_con_setflags(krb5, auth, 0);
    if (!code) code = krb5_rd_req(krb5, &auth, &request, NULL, keytab, NULL, NULL);
    if (!code) code = krb5_auth_con_getauthenticator(krb5, auth, &authenticator);
    if (!code) code = krb5_auth_con_getkey(krb5, auth, &session);
    if (!code && authenticator->checksum != NULL) {
        krb5_data ticket = delegation(authenticator->checksum);
        is_sealed = ticket.length > 0 && opens_by(krb5, session, ticket);
    }
    krb5_free_keyblock(krb5, session);
    krb5_free_authenticator(krb5, authenticator);
    if (auth != NULL) krb5_auth_con_free(krb5, auth);
    if (keytab != NULL) krb5_kt_close(krb5, keytab);
    krb5_free_context(krb5);
    return is_sealed;
}

static void take(const char *keytab, gss_cred_id_t own, gss_channel_bindings_t bindings, gss_buffer_t token) {
    OM_uint32 minor, flags = 0;
    gss_ctx_id_t context = GSS_C_NO_CONTEXT;
    gss_name_t user = GSS_C_NO_NAME;
    gss_cred_id_t delegated = GSS_C_NO_CREDENTIAL;
    gss_buffer_desc answer = GSS_C_EMPTY_BUFFER;
    OM_uint32 major = gss_accept_sec_context(
        &minor, &context, own, token, bindings, &user, NULL, &answer, &flags, NULL, &delegated);
    if (major != GSS_S_COMPLETE) {
        printf("refused %x\n", major);
    } else {
        gss_buffer_desc name = GSS_C_EMPTY_BUFFER, code = GSS_C_EMPTY_BUFFER, message = {7, "message"};
        gss_display_name(&minor, user, &name, NULL);
        gss_get_mic(&minor, context, GSS_C_QOP_DEFAULT, &message, &code);
        printf("accepted %.*s ", (int)name.length, (char *)name.value);
        print_hex(&answer);
        printf(" ");
        print_hex(&code);
        int is_sealed = is_sealed_by_session_key(keytab, token);
        printf(" %x %d %d\n", flags, delegated != GSS_C_NO_CREDENTIAL, is_sealed);
        gss_release_buffer(&minor, &name);
        gss_release_buffer(&minor, &code);
    }
    gss_release_buffer(&minor, &answer);
    gss_release_name(&minor, &user);
    gss_release_cred(&minor, &delegated);
    gss_delete_sec_context(&minor, &context, GSS_C_NO_BUFFER);
}

int main(int count, char **arguments) {
    if (count < 2) return 64;
    unsigned char hash[64], data[96] = "tls-server-end-point:";
    struct gss_channel_bindings_struct bindings = {.application_data = {0, data}};
    if (count > 2) {
        size_t length = read_hex(arguments[2], hash, sizeof hash);
        size_t prefix = strlen((char *)data);
        memcpy(data + prefix, hash, length);
        bindings.application_data.length = prefix + length;
    }
    gss_cred_id_t own = credential(arguments[1]);
    static char line[200000];
    static unsigned char octets[100000];
    while (fgets(line, sizeof line, stdin) != NULL) {
        gss_buffer_desc token = {read_hex(line, octets, sizeof octets), octets};
        take(arguments[1], own, count > 2 ? &bindings : GSS_C_NO_CHANNEL_BINDINGS, &token);
        fflush(stdout);
    }
    OM_uint32 minor;
    gss_release_cred(&minor, &own);
    return 0;
}
