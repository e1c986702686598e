#define SQLITE_HAS_CODEC 1
#include "store_peers.h"

#include <sqlcipher/sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sqlcipher {
    sqlite3 *database;
    sqlite3_stmt *begin, *commit, *write, *read;
    char version[64];
};

static void check(sqlcipher *store, int isGood) {
    if (isGood) return;
    fprintf(stderr, "SQLCipher: %s\n", sqlite3_errmsg(store->database));
    abort();
}

static void run(sqlcipher *store, const char *text) {
    check(store, sqlite3_exec(store->database, text, NULL, NULL, NULL) == SQLITE_OK);
}

static sqlite3_stmt *prepare(sqlcipher *store, const char *text) {
    sqlite3_stmt *statement;
    check(store, sqlite3_prepare_v2(store->database, text, -1, &statement, NULL) == SQLITE_OK);
    return statement;
}

static void step(sqlcipher *store, sqlite3_stmt *statement) {
    check(store, sqlite3_step(statement) == SQLITE_DONE);
    sqlite3_reset(statement);
}

sqlcipher *sqlcipher_open(const char *path) {
    sqlcipher *store = calloc(1, sizeof *store);
    check(store, sqlite3_open(path, &store->database) == SQLITE_OK);
    run(store, "PRAGMA key = \"x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f'\"");
    run(store, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    run(store, "CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID");
    store->begin = prepare(store, "BEGIN IMMEDIATE");
    store->commit = prepare(store, "COMMIT");
    store->write = prepare(store, "INSERT OR REPLACE INTO records VALUES (?, ?)");
    store->read = prepare(store, "SELECT value FROM records WHERE key = ?");
    sqlite3_stmt *version = prepare(store, "PRAGMA cipher_version");
    if (sqlite3_step(version) == SQLITE_ROW) {
        snprintf(store->version, sizeof store->version, "%s", (const char *)sqlite3_column_text(version, 0));
    }
    sqlite3_finalize(version);
    return store;
}

const char *sqlcipher_version(sqlcipher *store) { return store->version; }

void sqlcipher_write(sqlcipher *store, const char *keys, size_t count, const uint8_t *value, size_t length) {
    step(store, store->begin);
    for (size_t index = 0; index < count; index++) {
        sqlite3_bind_text(store->write, 1, keys + index * KEY_LENGTH, KEY_LENGTH, SQLITE_STATIC);
        sqlite3_bind_blob(store->write, 2, value, (int)length, SQLITE_STATIC);
        step(store, store->write);
    }
    step(store, store->commit);
}

size_t sqlcipher_read(sqlcipher *store, const char *key, uint8_t *value, size_t room) {
    sqlite3_bind_text(store->read, 1, key, KEY_LENGTH, SQLITE_STATIC);
    check(store, sqlite3_step(store->read) == SQLITE_ROW);
    size_t length = (size_t)sqlite3_column_bytes(store->read, 0);
    memcpy(value, sqlite3_column_blob(store->read, 0), length < room ? length : room);
    sqlite3_reset(store->read);
    return length;
}

void sqlcipher_close(sqlcipher *store) {
    sqlite3_finalize(store->begin);
    sqlite3_finalize(store->commit);
    sqlite3_finalize(store->write);
    sqlite3_finalize(store->read);
    sqlite3_close(store->database);
    free(store);
}
