#pragma once

#include <openssl/ssl.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <openssl/sha.h>

// Stacks are macros, which Swift does not see.
static inline int sallyport_chain_count(const STACK_OF(X509) *chain) { return chain == NULL ? 0 : sk_X509_num(chain); }

/// SHA-256 of a certificate's SubjectPublicKeyInfo; 0 where it cannot be had.
static inline int sallyport_key_digest(const STACK_OF(X509) *chain, int index, unsigned char digest[32]) {
    unsigned char *octets = NULL;
    int count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(sk_X509_value(chain, index)), &octets);
    if (count <= 0) return 0;
    SHA256(octets, (size_t)count, digest);
    OPENSSL_free(octets);
    return 1;
}
