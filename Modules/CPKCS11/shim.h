#pragma once

// The standard's interface (OASIS PKCS #11) as p11-kit's header has it; nothing of p11-kit is linked. A token's module
// is loaded when it is asked for.
#define CRYPTOKI_GNU 1
#include <p11-kit/pkcs11.h>
