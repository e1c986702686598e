#ifndef CACHE_PEER_H
#define CACHE_PEER_H

#include <stddef.h>
#include <stdint.h>

/// One value in LMDB, encrypted with AES-256-GCM: what a cache hit cannot cost less than.
typedef struct cache_peer cache_peer;

cache_peer *cache_peer_open(const char *directory, const uint8_t *value, size_t length);
/// Reads and decrypts it in a snapshot of its own; gives its length, 0 where it does not verify.
size_t cache_peer_read(cache_peer *peer, uint8_t *room);
void cache_peer_close(cache_peer *peer);

#endif
