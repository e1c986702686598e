#pragma once

/// Signs `input`; the signature's length, or 0.
typedef int (*sallyport_sign)(void *signer, int operation, const unsigned char *input, int count,
                              unsigned char *output, int capacity);
#define SALLYPORT_SIGN_ECDSA 0
#define SALLYPORT_SIGN_RSA_PKCS1 1
#define SALLYPORT_SIGN_RSA_RAW 2

struct ssl_ctx_st;
struct x509_st;

/// Once in a process, before the first key; 0 where memory is out.
int sallyport_prepare_signers(void);

/// Has connections of `context` show a certificate whose key is elsewhere. `signer` is released with the last of them,
/// or here on failure.
int sallyport_use_signer(struct ssl_ctx_st *context, struct x509_st *certificate, sallyport_sign sign, void *signer,
                         void (*release)(void *));

/// Shows an authority's certificate besides.
int sallyport_add_chain(struct ssl_ctx_st *context, struct x509_st *authority);
