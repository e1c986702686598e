#pragma once

#include <stdint.h>

/// Messages of `size` bytes that a server echoes, one after the other, on `connections` at once, a thread each. 0 where
/// that went well.
int socket_peer_echo(int port, const char *authority, int size, int messages, int connections);

/// So many bytes from the server, or to it. 0 where that went well.
int socket_peer_bulk(int port, const char *authority, uint64_t bytes, int is_upload);
