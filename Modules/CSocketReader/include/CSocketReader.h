#pragma once

#include <stddef.h>

struct ssl_st;

/// Lets a connection that stands read and write a socket by itself, which stays the caller's; 0 where memory is out.
int sallyport_carry_over_socket(struct ssl_st *tls, int descriptor);

/// Lends room to read into, until it is given back; connections of one thread may share it in turns. OpenSSL asks for a
/// record's head, then for the rest; with room, one call into the kernel brings what lies ready of many.
void sallyport_lend_room(struct ssl_st *tls, void *room, size_t capacity);

/// Gives the room back; what was not read of it is kept aside.
void sallyport_give_room_back(struct ssl_st *tls);
