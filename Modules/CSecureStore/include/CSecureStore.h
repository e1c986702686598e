#pragma once

// The cipher of SecureStore on libcrypto, and what Swift's Glibc module leaves out.
//
// Keys live in memory that the caller gives, so that it can be locked; nothing here keeps a copy of one. What stays in
// a thread's context after a call is the key of the one record that was last sealed or opened.

#include <stddef.h>
#include <stdint.h>

/// What a key of XAES-256-GCM (https://c2sp.org/XAES-256-GCM) takes, made ready for use.
size_t sp_aead_key_size(void);
void sp_aead_key_make(void *memory, const uint8_t key[32]);

/// Seals `count` bytes at `bytes` in place and puts the tag of 16 after them. 0 where libcrypto failed.
int sp_aead_seal(
    const void *key, const uint8_t nonce[24], const uint8_t *associated, size_t associated_count, uint8_t *bytes,
    size_t count);

/// Opens `count` bytes and the tag of 16 behind them into `out`, which may be where they are.
/// 0 where they do not verify; `out` is then cleared.
int sp_aead_open(
    const void *key, const uint8_t nonce[24], const uint8_t *associated, size_t associated_count,
    const uint8_t *bytes, size_t count, uint8_t *out);

/// What a key of HMAC-SHA-256 (RFC 2104) takes, made ready for use.
size_t sp_mac_key_size(void);
void sp_mac_key_make(void *memory, const uint8_t *key, size_t count);

/// Authenticates `first` followed by `second`.
void sp_mac(
    const void *key, const uint8_t *first, size_t first_count, const uint8_t *second, size_t second_count,
    uint8_t out[32]);

/// Turns off core dumps and backtraces of this process, and keeps other processes of the same user from reading its
/// memory. Returns 0 on success.
int sp_process_keep_from_dumps(void);

/// Pages that are kept out of core dumps and of children, and out of swap where `*is_locked` comes back 1.
/// NULL where there is no memory.
void *sp_pages_make(size_t count, int *is_locked);
/// Clears pages and gives them back.
void sp_pages_free(void *pages, size_t count);
/// Clears memory in a way that no compiler leaves out.
void sp_clear(void *memory, size_t count);

/// Bytes from the kernel; 0 where it gives none.
int sp_random(void *out, size_t count);

/// keyctl(2): the key's number, or -1 with errno.
int32_t sp_keyring_search(int32_t keyring, const char *description);
/// Adds a key, in one step, if the keyring has none of this name; otherwise -1 with EEXIST, also for a key that has
/// expired or was revoked. Needs Linux 5.3; returns 0, or -1 with errno.
///
/// With `is_readable`, every process of the key's user can find and read it, also one whose session does not hold the
/// keyring. Makes a thread for it, which has ended when this returns.
int sp_keyring_add(int32_t keyring, const char *description, const void *secret, size_t count, int is_readable);
/// The secret's length, which may be over `count`, or -1 with errno.
long sp_keyring_read(int32_t key, void *out, size_t count);
int sp_keyring_unlink(int32_t key, int32_t keyring);
