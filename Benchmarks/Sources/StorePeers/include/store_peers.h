#pragma once

#include <stddef.h>
#include <stdint.h>

// The stores that a user would pick instead, in C, with keys of 16 characters and values of bytes. Each call but `open` ends the
// program where it fails: a peer that fails measures nothing.

enum { KEY_LENGTH = 16 };

typedef struct raw_lmdb raw_lmdb;
raw_lmdb *raw_lmdb_open(const char *directory);
/// One durable transaction.
void raw_lmdb_write(raw_lmdb *store, const char *keys, size_t count, const uint8_t *value, size_t length);
/// One snapshot; copies the value out and returns its length.
size_t raw_lmdb_read(raw_lmdb *store, const char *key, uint8_t *value, size_t room);
void raw_lmdb_close(raw_lmdb *store);

/// SQLCipher with a raw key, write-ahead log and `synchronous=FULL`; one table that is its key's index.
typedef struct sqlcipher sqlcipher;
sqlcipher *sqlcipher_open(const char *path);
const char *sqlcipher_version(sqlcipher *store);
void sqlcipher_write(sqlcipher *store, const char *keys, size_t count, const uint8_t *value, size_t length);
size_t sqlcipher_read(sqlcipher *store, const char *key, uint8_t *value, size_t room);
void sqlcipher_close(sqlcipher *store);
