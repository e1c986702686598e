// A service that takes tokens of GSS-API: for what no web server here says.
//
//   GSSAcceptor KEYTAB [CERTIFICATE-HASH]
//
// With a hash, in hexadecimal, tokens must be bound to `tls-server-end-point` of it. Reads hexadecimal tokens, one a line,
// each of a context of its own, and answers a line each: `accepted USER TOKEN CODE FLAGS DELEGATED`, where CODE is that of
// the service over the octets "message", or `refused MAJOR`.

#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
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

static void take(gss_cred_id_t own, gss_channel_bindings_t bindings, gss_buffer_t token) {
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
        printf(" %x %d\n", flags, delegated != GSS_C_NO_CREDENTIAL);
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
        take(own, count > 2 ? &bindings : GSS_C_NO_CHANNEL_BINDINGS, &token);
        fflush(stdout);
    }
    OM_uint32 minor;
    gss_release_cred(&minor, &own);
    return 0;
}
