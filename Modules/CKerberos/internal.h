#pragma once

#include "ckerberos.h"

#include <errno.h>
#include <krb5/krb5.h>
#include <stdlib.h>
#include <string.h>

struct sk_context {
    krb5_context krb5;
};

// None of krb5's functions on the parts of a `krb5_creds` needs the context that made them.
struct sk_ticket {
    krb5_creds creds;
};

int32_t sk_copy(const void *bytes, size_t count, sk_bytes *out);
int32_t sk_name(krb5_context context, krb5_const_principal principal, sk_bytes *out);
/// Takes the contents of `creds`.
int32_t sk_adopt(krb5_context context, krb5_creds *creds, sk_ticket **out);
int32_t sk_open_keytab(krb5_context context, const char *path, krb5_keytab *out);
/// A cache in memory with one ticket.
int32_t sk_cache_of(krb5_context context, const sk_ticket *granting, krb5_ccache *out);
