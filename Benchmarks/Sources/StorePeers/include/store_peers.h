#pragma once

#include <stddef.h>
#include <stdint.h>

// The stores that a user would pick instead, in C, with 64-bit keys and values of octets. Each call but `open` ends the
// program where it fails: a peer that fails measures nothing.

typedef struct raw_lmdb raw_lmdb;
raw_lmdb *raw_lmdb_open(const char *directory);
/// One durable transaction.
void raw_lmdb_write(raw_lmdb *store, const int64_t *keys, size_t count, const uint8_t *value, size_t length);
/// One snapshot; copies the value out and returns its length.
size_t raw_lmdb_read(raw_lmdb *store, int64_t key, uint8_t *value, size_t room);
void raw_lmdb_close(raw_lmdb *store);

/// SQLCipher with a raw key, write-ahead log and `synchronous=FULL`; one table without row ids beside the key.
typedef struct sqlcipher sqlcipher;
sqlcipher *sqlcipher_open(const char *path);
const char *sqlcipher_version(sqlcipher *store);
void sqlcipher_write(sqlcipher *store, const int64_t *keys, size_t count, const uint8_t *value, size_t length);
size_t sqlcipher_read(sqlcipher *store, int64_t key, uint8_t *value, size_t room);
void sqlcipher_close(sqlcipher *store);
