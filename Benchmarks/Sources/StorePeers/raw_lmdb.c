#include "store_peers.h"

#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct raw_lmdb {
    MDB_env *environment;
    MDB_dbi database;
    MDB_txn *reader;
};

static void check(int result) {
    if (result == 0) return;
    fprintf(stderr, "LMDB: %s\n", mdb_strerror(result));
    abort();
}

raw_lmdb *raw_lmdb_open(const char *directory) {
    raw_lmdb *store = calloc(1, sizeof *store);
    check(mdb_env_create(&store->environment));
    check(mdb_env_set_mapsize(store->environment, (size_t)8 << 30));
    check(mdb_env_open(store->environment, directory, MDB_NOTLS, 0600));
    MDB_txn *transaction;
    check(mdb_txn_begin(store->environment, NULL, 0, &transaction));
    check(mdb_dbi_open(transaction, NULL, 0, &store->database));
    check(mdb_txn_commit(transaction));
    check(mdb_txn_begin(store->environment, NULL, MDB_RDONLY, &store->reader));
    mdb_txn_reset(store->reader);
    return store;
}

void raw_lmdb_write(raw_lmdb *store, const char *keys, size_t count, const uint8_t *value, size_t length) {
    MDB_txn *transaction;
    check(mdb_txn_begin(store->environment, NULL, 0, &transaction));
    for (size_t index = 0; index < count; index++) {
        MDB_val key = {KEY_LENGTH, (void *)(keys + index * KEY_LENGTH)}, data = {length, (void *)value};
        check(mdb_put(transaction, store->database, &key, &data, 0));
    }
    check(mdb_txn_commit(transaction));
}

size_t raw_lmdb_read(raw_lmdb *store, const char *name, uint8_t *value, size_t room) {
    check(mdb_txn_renew(store->reader));
    MDB_val key = {KEY_LENGTH, (void *)name}, data;
    check(mdb_get(store->reader, store->database, &key, &data));
    memcpy(value, data.mv_data, data.mv_size < room ? data.mv_size : room);
    mdb_txn_reset(store->reader);
    return data.mv_size;
}

void raw_lmdb_close(raw_lmdb *store) {
    mdb_txn_abort(store->reader);
    mdb_env_close(store->environment);
    free(store);
}
