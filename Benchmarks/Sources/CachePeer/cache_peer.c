#include "cache_peer.h"

#include <lmdb.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONCE = 12, TAG = 16 };

struct cache_peer {
    MDB_env *environment;
    MDB_dbi database;
    MDB_txn *reader;
    EVP_CIPHER_CTX *cipher;
};

static void check(int is_good, const char *what) {
    if (is_good) return;
    fprintf(stderr, "%s failed\n", what);
    abort();
}

static const uint8_t key[32] = {1, 2, 3, 4, 5, 6, 7, 8};
static const char name[] = "value";

static uint8_t *sealed(const uint8_t *value, size_t length) {
    uint8_t *record = calloc(1, NONCE + length + TAG);
    int count = 0;
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    check(EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, record), "EVP_EncryptInit_ex");
    check(EVP_EncryptUpdate(cipher, record + NONCE, &count, value, (int)length), "EVP_EncryptUpdate");
    check(EVP_EncryptFinal_ex(cipher, record + NONCE + length, &count), "EVP_EncryptFinal_ex");
    check(EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, TAG, record + NONCE + length), "the tag");
    EVP_CIPHER_CTX_free(cipher);
    return record;
}

cache_peer *cache_peer_open(const char *directory, const uint8_t *value, size_t length) {
    cache_peer *peer = calloc(1, sizeof *peer);
    check(mdb_env_create(&peer->environment) == 0, "mdb_env_create");
    check(mdb_env_set_mapsize(peer->environment, (size_t)1 << 30) == 0, "mdb_env_set_mapsize");
    check(mdb_env_open(peer->environment, directory, MDB_NOTLS, 0600) == 0, "mdb_env_open");
    MDB_txn *transaction;
    check(mdb_txn_begin(peer->environment, NULL, 0, &transaction) == 0, "mdb_txn_begin");
    check(mdb_dbi_open(transaction, NULL, 0, &peer->database) == 0, "mdb_dbi_open");
    uint8_t *record = sealed(value, length);
    MDB_val place = {sizeof name, (void *)name}, data = {NONCE + length + TAG, record};
    check(mdb_put(transaction, peer->database, &place, &data, 0) == 0, "mdb_put");
    check(mdb_txn_commit(transaction) == 0, "mdb_txn_commit");
    free(record);
    check(mdb_txn_begin(peer->environment, NULL, MDB_RDONLY, &peer->reader) == 0, "mdb_txn_begin");
    mdb_txn_reset(peer->reader);
    peer->cipher = EVP_CIPHER_CTX_new();
    check(EVP_DecryptInit_ex(peer->cipher, EVP_aes_256_gcm(), NULL, key, NULL), "EVP_DecryptInit_ex");
    return peer;
}

size_t cache_peer_read(cache_peer *peer, uint8_t *room) {
    check(mdb_txn_renew(peer->reader) == 0, "mdb_txn_renew");
    MDB_val place = {sizeof name, (void *)name}, data;
    check(mdb_get(peer->reader, peer->database, &place, &data) == 0, "mdb_get");
    const uint8_t *record = data.mv_data;
    size_t length = data.mv_size - NONCE - TAG;
    int count = 0, rest = 0;
    int is_good = EVP_DecryptInit_ex(peer->cipher, NULL, NULL, NULL, record) &&
                  EVP_DecryptUpdate(peer->cipher, room, &count, record + NONCE, (int)length) &&
                  EVP_CIPHER_CTX_ctrl(peer->cipher, EVP_CTRL_GCM_SET_TAG, TAG, (void *)(record + NONCE + length)) &&
                  EVP_DecryptFinal_ex(peer->cipher, room + count, &rest);
    mdb_txn_reset(peer->reader);
    return is_good ? length : 0;
}

void cache_peer_close(cache_peer *peer) {
    mdb_txn_abort(peer->reader);
    mdb_env_close(peer->environment);
    EVP_CIPHER_CTX_free(peer->cipher);
    free(peer);
}
