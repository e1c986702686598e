#pragma once

// The kernel's sockets for questions about sockets (sock_diag(7)), whose address Swift's Glibc module does not know.

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/// A socket that asks about other sockets. Its descriptor, or a negative errno.
static inline int sallyport_socket_diagnosis_open(void) {
    int descriptor = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (descriptor < 0) return -errno;
    // The kernel answers while the question is sent or its answer read; the limit is for the case that it does not.
    struct timeval limit = {.tv_sec = 1};
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0) return descriptor;
    int failure = errno;
    close(descriptor);
    return -failure;
}

/// Sends bytes to the kernel. 0, or a negative errno.
static inline int sallyport_socket_diagnosis_send(int descriptor, const void *bytes, size_t length) {
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t sent = sendto(descriptor, bytes, length, 0, (struct sockaddr *)&kernel, sizeof kernel);
    return sent == (ssize_t)length ? 0 : sent < 0 ? -errno : -EMSGSIZE;
}

/// Receives one datagram: its whole length, which may be more than there was room for, or a negative errno. `sender` is
/// the port that sent it, 0 for the kernel: any process of the machine may send.
static inline long sallyport_socket_diagnosis_receive(
    int descriptor, void *bytes, size_t room, unsigned int *sender) {
    struct sockaddr_nl address = {0};
    socklen_t length = sizeof address;
    ssize_t count = recvfrom(descriptor, bytes, room, MSG_TRUNC, (struct sockaddr *)&address, &length);
    if (count < 0) return -errno;
    *sender = length == sizeof address ? address.nl_pid : ~0u;
    return count;
}

// What `SocketQuestion` and `SocketAnswer` call by its number.
_Static_assert(SOCK_DIAG_BY_FAMILY == 20 && SOCK_DESTROY == 21, "questions");
_Static_assert(NLMSG_ERROR == 2 && NLMSG_DONE == 3 && NLMSG_OVERRUN == 4, "netlink");
_Static_assert(NLM_F_REQUEST == 1 && NLM_F_ACK == 4 && NLM_F_DUMP == 0x300, "flags");
_Static_assert(AF_INET == 2 && AF_INET6 == 10 && IPPROTO_TCP == 6, "families");
_Static_assert(TCP_ESTABLISHED == 1 && TCP_FIN_WAIT1 == 4 && TCP_FIN_WAIT2 == 5, "states");
_Static_assert(TCP_CLOSE_WAIT == 8 && TCP_LAST_ACK == 9 && TCP_CLOSING == 11, "states");
_Static_assert(sizeof(struct nlmsghdr) == 16 && sizeof(struct inet_diag_sockid) == 48, "sizes");
_Static_assert(sizeof(struct inet_diag_req_v2) == 56 && offsetof(struct inet_diag_req_v2, id) == 8, "question");
_Static_assert(sizeof(struct inet_diag_msg) == 72 && offsetof(struct inet_diag_msg, id) == 4, "answer");
_Static_assert(INET_DIAG_NOCOOKIE == ~0u, "cookie");
