#pragma once

struct ssl_st;

/// Lets a connection that stands read and write a socket by itself, which stays the caller's; 0 where memory is out.
int sallyport_carry_over_socket(struct ssl_st *tls, int descriptor);

/// Whether behind what is written next, more is written at once: the kernel then waits for it, and sends longer segments.
void sallyport_announce_more(struct ssl_st *tls, int more_follows);
