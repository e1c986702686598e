// The methods of EC and RSA keys are OpenSSL 1.1's; the providers of 3.0 that replace them are far more code.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "CIdentitySigner.h"

#include <openssl/ec.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>

struct sallyport_signer {
    sallyport_sign sign;
    void *signer;
    void (*release)(void *);
};
static int sallyport_signer_ec = -1, sallyport_signer_rsa = -1;
static EC_KEY_METHOD *sallyport_ec_method = NULL;
static RSA_METHOD *sallyport_rsa_method = NULL;

static void sallyport_free_signer(
    void *parent, void *data, CRYPTO_EX_DATA *all, int index, long argument, void *pointer) {
    (void)parent, (void)all, (void)index, (void)argument, (void)pointer;
    struct sallyport_signer *signer = (struct sallyport_signer *)data;
    if (signer == NULL) return;
    signer->release(signer->signer);
    OPENSSL_free(signer);
}
static int sallyport_sign_ec(
    int type, const unsigned char *digest, int count, unsigned char *signature, unsigned int *length,
    const BIGNUM *inverse, const BIGNUM *r, EC_KEY *key) {
    (void)type, (void)inverse, (void)r;
    struct sallyport_signer *signer = (struct sallyport_signer *)EC_KEY_get_ex_data(key, sallyport_signer_ec);
    int written = signer->sign(signer->signer, SALLYPORT_SIGN_ECDSA, digest, count, signature, ECDSA_size(key));
    *length = written > 0 ? (unsigned int)written : 0;
    return written > 0;
}
static int sallyport_sign_rsa(int count, const unsigned char *from, unsigned char *to, RSA *key, int padding) {
    struct sallyport_signer *signer = (struct sallyport_signer *)RSA_get_ex_data(key, sallyport_signer_rsa);
    int operation = padding == RSA_PKCS1_PADDING ? SALLYPORT_SIGN_RSA_PKCS1 : SALLYPORT_SIGN_RSA_RAW;
    int written = signer->sign(signer->signer, operation, from, count, to, RSA_size(key));
    return written == RSA_size(key) ? written : -1;
}
int sallyport_prepare_signers(void) {
    sallyport_signer_ec = EC_KEY_get_ex_new_index(0, NULL, NULL, NULL, sallyport_free_signer);
    sallyport_signer_rsa = RSA_get_ex_new_index(0, NULL, NULL, NULL, sallyport_free_signer);
    sallyport_ec_method = EC_KEY_METHOD_new(EC_KEY_OpenSSL());
    sallyport_rsa_method = RSA_meth_dup(RSA_PKCS1_OpenSSL());
    if (sallyport_ec_method == NULL || sallyport_rsa_method == NULL) return 0;
    EC_KEY_METHOD_set_sign(sallyport_ec_method, sallyport_sign_ec, NULL, NULL);
    RSA_meth_set_flags(sallyport_rsa_method, RSA_FLAG_EXT_PKEY | RSA_METHOD_FLAG_NO_CHECK);
    return RSA_meth_set_priv_enc(sallyport_rsa_method, sallyport_sign_rsa);
}
static EVP_PKEY *sallyport_signing_ec(EVP_PKEY *public_key, struct sallyport_signer *signer) {
    const EC_KEY *known = EVP_PKEY_get0_EC_KEY(public_key);
    EC_KEY *key = known == NULL ? NULL : EC_KEY_dup(known);
    EVP_PKEY *made = EVP_PKEY_new();
    if (key != NULL && made != NULL && EC_KEY_set_method(key, sallyport_ec_method) &&
        EVP_PKEY_set1_EC_KEY(made, key) && EC_KEY_set_ex_data(key, sallyport_signer_ec, signer)) {
        EC_KEY_free(key);
        return made;
    }
    EC_KEY_free(key);
    EVP_PKEY_free(made);
    return NULL;
}
static EVP_PKEY *sallyport_signing_rsa(EVP_PKEY *public_key, struct sallyport_signer *signer) {
    const RSA *known = EVP_PKEY_get0_RSA(public_key);
    RSA *key = known == NULL ? NULL : RSAPublicKey_dup((RSA *)known);
    EVP_PKEY *made = EVP_PKEY_new();
    if (key != NULL && made != NULL && RSA_set_method(key, sallyport_rsa_method) &&
        EVP_PKEY_set1_RSA(made, key) && RSA_set_ex_data(key, sallyport_signer_rsa, signer)) {
        RSA_free(key);
        return made;
    }
    RSA_free(key);
    EVP_PKEY_free(made);
    return NULL;
}
int sallyport_use_signer(
    SSL_CTX *context, X509 *certificate, sallyport_sign sign, void *signer, void (*release)(void *)) {
    struct sallyport_signer *data = (struct sallyport_signer *)OPENSSL_malloc(sizeof *data);
    EVP_PKEY *public_key = X509_get0_pubkey(certificate), *key = NULL;
    if (data != NULL && public_key != NULL) {
        data->sign = sign, data->signer = signer, data->release = release;
        int kind = EVP_PKEY_base_id(public_key);
        if (kind == EVP_PKEY_EC) key = sallyport_signing_ec(public_key, data);
        if (kind == EVP_PKEY_RSA) key = sallyport_signing_rsa(public_key, data);
    }
    if (key == NULL) {
        OPENSSL_free(data);
        release(signer);
        return 0;
    }
    int is_used = SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1;
    EVP_PKEY_free(key);
    return is_used;
}
int sallyport_add_chain(SSL_CTX *context, X509 *authority) {
    return (int)SSL_CTX_add1_chain_cert(context, authority);
}
