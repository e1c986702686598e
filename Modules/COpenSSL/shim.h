#pragma once

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/// Empties the thread's queue of errors, as SSL_get_error() needs it before each call that it explains. The queue is
/// almost always empty, and to clear it even so takes as long as to encrypt a short record.
static inline void sallyport_clear_errors(void) {
    if (ERR_peek_error() != 0) ERR_clear_error();
}

// Stacks are macros, which Swift does not see.

/// The number of certificates and revocation lists in a store.
static inline int sallyport_contents_count(X509_STORE *store) {
    return sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
}

/// Adds all certificates and revocation lists of a store to another one, which shares them. 0 on failure.
static inline int sallyport_add_contents(X509_STORE *from, X509_STORE *to) {
    const STACK_OF(X509_OBJECT) *contents = X509_STORE_get0_objects(from);
    for (int index = 0; index < sk_X509_OBJECT_num(contents); index++) {
        X509_OBJECT *object = sk_X509_OBJECT_value(contents, index);
        X509 *certificate = X509_OBJECT_get0_X509(object);
        X509_CRL *list = X509_OBJECT_get0_X509_CRL(object);
        if (certificate != NULL && !X509_STORE_add_cert(to, certificate)) return 0;
        if (list != NULL && !X509_STORE_add_crl(to, list)) return 0;
    }
    return 1;
}

static inline int sallyport_chain_count(const STACK_OF(X509) *chain) { return chain == NULL ? 0 : sk_X509_num(chain); }

/// The DER of a certificate of the chain; its length, and where `bytes` is not NULL the bytes. Negative on failure.
static inline int sallyport_certificate(const STACK_OF(X509) *chain, int index, unsigned char *bytes) {
    return i2d_X509(sk_X509_value(chain, index), bytes == NULL ? NULL : &bytes);
}

/// SHA-256 of the SHA-256 of each certificate; 0 where it cannot be had.
static inline int sallyport_chain_digest(const STACK_OF(X509) *chain, unsigned char digest[32]) {
    SHA256_CTX whole;
    int is_good = SHA256_Init(&whole);
    for (int index = 0; is_good && index < sallyport_chain_count(chain); index++) {
        unsigned char one[EVP_MAX_MD_SIZE];
        unsigned int count = 0;
        is_good = X509_digest(sk_X509_value(chain, index), EVP_sha256(), one, &count);
        if (is_good) is_good = SHA256_Update(&whole, one, count);
    }
    return is_good && SHA256_Final(digest, &whole);
}

/// The hash of the peer's certificate for `tls-server-end-point` (RFC 5929 §4.1): its length, 0 where there is none.
static inline unsigned int sallyport_end_point(const SSL *tls, unsigned char digest[EVP_MAX_MD_SIZE]) {
    X509 *certificate = SSL_get0_peer_certificate(tls);
    int kind = NID_undef;
    if (certificate == NULL || !X509_get_signature_info(certificate, &kind, NULL, NULL, NULL)) return 0;
    const EVP_MD *hash = kind == NID_md5 || kind == NID_sha1 ? EVP_sha256() : EVP_get_digestbynid(kind);
    unsigned int count = 0;
    return hash != NULL && X509_digest(certificate, hash, digest, &count) ? count : 0;
}

/// SHA-256 of a certificate's SubjectPublicKeyInfo; 0 where it cannot be had.
static inline int sallyport_key_digest(const STACK_OF(X509) *chain, int index, unsigned char digest[32]) {
    unsigned char *bytes = NULL;
    int count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(sk_X509_value(chain, index)), &bytes);
    if (count <= 0) return 0;
    SHA256(bytes, (size_t)count, digest);
    OPENSSL_free(bytes);
    return 1;
}

static inline int sallyport_name_count(const STACK_OF(X509_NAME) *names) {
    return names == NULL ? 0 : sk_X509_NAME_num(names);
}
/// As sallyport_certificate().
static inline int sallyport_name(const STACK_OF(X509_NAME) *names, int index, unsigned char *bytes) {
    return i2d_X509_NAME(sk_X509_NAME_value(names, index), bytes == NULL ? NULL : &bytes);
}

/// Gives the password that was told; never asks at a terminal.
static int sallyport_password(char *buffer, int size, int is_writing, void *password) {
    (void)is_writing;
    int count = password == NULL ? 0 : (int)strlen((const char *)password);
    if (count > size) return -1;
    if (count > 0) memcpy(buffer, password, (size_t)count);
    return count;
}
/// The first private key of a PEM text; NULL where there is none, or the password is another.
static inline EVP_PKEY *sallyport_read_key(const void *text, int count, const char *password) {
    BIO *source = BIO_new_mem_buf(text, count);
    if (source == NULL) return NULL;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(source, NULL, sallyport_password, (void *)password);
    BIO_free(source);
    ERR_clear_error();
    return key;
}
/// PKCS#8, DER; as sallyport_certificate().
static inline int sallyport_key(const EVP_PKEY *key, unsigned char *bytes) {
    PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
    if (info == NULL) return -1;
    int count = i2d_PKCS8_PRIV_KEY_INFO(info, bytes == NULL ? NULL : &bytes);
    PKCS8_PRIV_KEY_INFO_free(info);
    return count;
}
static inline void sallyport_free_chain(STACK_OF(X509) *chain) { sk_X509_pop_free(chain, X509_free); }

/// TLS_FALLBACK_SCSV (RFC 7507).
static inline void sallyport_send_fallback(SSL_CTX *context) { SSL_CTX_set_mode(context, SSL_MODE_SEND_FALLBACK_SCSV); }

static inline void sallyport_ask_for_staple(SSL_CTX *context, int (*callback)(SSL *, void *)) {
    SSL_CTX_set_tlsext_status_type(context, TLSEXT_STATUSTYPE_ocsp);
    SSL_CTX_set_tlsext_status_cb(context, callback);
}

#define SALLYPORT_STAPLE_GOOD 0
#define SALLYPORT_STAPLE_REVOKED 1
#define SALLYPORT_STAPLE_MISSING 2
#define SALLYPORT_STAPLE_INVALID 3

/// The greatest age, in seconds, of an OCSP response without nextUpdate: 7 days. RFC 6960 §2.4 sets no limit for such a
/// response: newer information is always available, so without this limit it would be accepted for ever.
#define SALLYPORT_STAPLE_AGE (7L * 24 * 3600)

/// What the answer says of the certificate; the answer's signature was verified.
static inline int sallyport_staple_status(OCSP_BASICRESP *answer, X509 *leaf, X509 *issuer) {
    // Clocks may differ by five minutes.
    const long skew = 300;
    for (int index = 0; index < OCSP_resp_count(answer); index++) {
        OCSP_SINGLERESP *single = OCSP_resp_get0(answer, index);
        OCSP_CERTID *found = (OCSP_CERTID *)OCSP_SINGLERESP_get0_id(single);
        ASN1_OBJECT *digest = NULL;
        if (!OCSP_id_get0_info(NULL, &digest, NULL, NULL, found)) continue;
        const EVP_MD *type = EVP_get_digestbyobj(digest);
        OCSP_CERTID *wanted = type == NULL ? NULL : OCSP_cert_to_id(type, leaf, issuer);
        int is_ours = wanted != NULL && OCSP_id_cmp(found, wanted) == 0;
        OCSP_CERTID_free(wanted);
        if (!is_ours) continue;
        ASN1_GENERALIZEDTIME *from = NULL, *until = NULL;
        int status = OCSP_single_get0_status(single, NULL, NULL, &from, &until);
        if (status == V_OCSP_CERTSTATUS_REVOKED) return SALLYPORT_STAPLE_REVOKED;
        if (status != V_OCSP_CERTSTATUS_GOOD) return SALLYPORT_STAPLE_INVALID;
        return OCSP_check_validity(from, until, skew, until == NULL ? SALLYPORT_STAPLE_AGE : -1) ? SALLYPORT_STAPLE_GOOD : SALLYPORT_STAPLE_INVALID;
    }
    return SALLYPORT_STAPLE_INVALID;
}

/// Whether the certificate says that an answer must be stapled: TLS feature 5 (RFC 7633).
static inline int sallyport_must_staple(X509 *leaf) {
    TLS_FEATURE *features = X509_get_ext_d2i(leaf, NID_tlsfeature, NULL, NULL);
    int is_asked = 0;
    for (int index = 0; features != NULL && index < sk_ASN1_INTEGER_num(features); index++)
        if (ASN1_INTEGER_get(sk_ASN1_INTEGER_value(features, index)) == TLSEXT_TYPE_status_request) is_asked = 1;
    TLS_FEATURE_free(features);
    return is_asked;
}

/// Judges the OCSP answer that the server has stapled (RFC 6960); called in the handshake, once the chain was verified.
static inline int sallyport_check_staple(SSL *connection, int is_required) {
    STACK_OF(X509) *chain = SSL_get0_verified_chain(connection);
    // A resumed session shows no certificate.
    if (SSL_session_reused(connection) || sallyport_chain_count(chain) == 0) return SALLYPORT_STAPLE_GOOD;
    X509 *leaf = sk_X509_value(chain, 0);
    const unsigned char *bytes = NULL;
    long count = SSL_get_tlsext_status_ocsp_resp(connection, &bytes);
    if (bytes == NULL || count <= 0)
        return is_required || sallyport_must_staple(leaf) ? SALLYPORT_STAPLE_MISSING : SALLYPORT_STAPLE_GOOD;
    int verdict = SALLYPORT_STAPLE_INVALID;
    OCSP_RESPONSE *response = d2i_OCSP_RESPONSE(NULL, &bytes, count);
    OCSP_BASICRESP *answer = NULL;
    if (response != NULL && OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL)
        answer = OCSP_response_get1_basic(response);
    X509_STORE *store = SSL_CTX_get_cert_store(SSL_get_SSL_CTX(connection));
    X509 *issuer = sk_X509_value(chain, sallyport_chain_count(chain) > 1 ? 1 : 0);
    if (answer != NULL && OCSP_basic_verify(answer, chain, store, 0) > 0)
        verdict = sallyport_staple_status(answer, leaf, issuer);
    OCSP_BASICRESP_free(answer);
    OCSP_RESPONSE_free(response);
    // What was tried and failed must not be told as the handshake's error.
    ERR_clear_error();
    return verdict;
}

/// Whether a certificate names a host in `subjectAltName`: a common name alone is none (RFC 9525 §2).
static inline int sallyport_names_host(const X509 *certificate) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    int count = 0;
    for (int index = 0; names && index < sk_GENERAL_NAME_num(names); index++) {
        int kind = sk_GENERAL_NAME_value(names, index)->type;
        count += kind == GEN_DNS || kind == GEN_IPADD;
    }
    GENERAL_NAMES_free(names);
    return count > 0;
}

/// Sets the host name that the client sends in the server_name extension (RFC 6066 §3). Returns 0 if memory is
/// exhausted.
static inline int sallyport_name_server(SSL *tls, const char *name) { return (int)SSL_set_tlsext_host_name(tls, name); }

/// Called from the verification of the chain: holds the handshake there, and has OpenSSL verify the chain again when
/// the handshake goes on. Returns 0 if the handshake cannot be held.
static inline int sallyport_hold_verification(SSL *tls) {
    // An error left in the queue would be reported as the reason of the hold.
    ERR_clear_error();
    return SSL_set_retry_verify(tls);
}

/// Has a connection use the certificate, chain and key of a context. Returns 0 if the context has none.
static inline int sallyport_copy_identity(SSL *tls, SSL_CTX *from) {
    X509 *certificate = SSL_CTX_get0_certificate(from);
    EVP_PKEY *key = SSL_CTX_get0_privatekey(from);
    STACK_OF(X509) *chain = NULL;
    if (certificate == NULL || key == NULL) return 0;
    if (SSL_use_certificate(tls, certificate) != 1 || SSL_use_PrivateKey(tls, key) != 1) return 0;
    SSL_CTX_get0_chain_certs(from, &chain);
    return chain == NULL || SSL_set1_chain(tls, chain);
}

/// Whether the first error in the queue says that the peer closed TCP without ending TLS first.
static inline int sallyport_is_unexpected_end(void) {
    unsigned long error = ERR_peek_error();
    return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
}

/// Lets a connection that stands read and write through another one, which must live as long; 0 where memory is out.
static inline int sallyport_carry_over_tls(SSL *inner, SSL *outer) {
    BIO *bio = BIO_new(BIO_f_ssl());
    if (bio == NULL) return 0;
    BIO_set_ssl(bio, outer, BIO_NOCLOSE);
    SSL_set_bio(inner, bio, bio);
    return 1;
}
/// Writes take a part and are tried again from anywhere; what idles keeps no buffers.
static inline void sallyport_prepare_to_carry(SSL *tls) {
    SSL_set_mode(
        tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_clear_options(tls, SSL_OP_IGNORE_UNEXPECTED_EOF);
}
