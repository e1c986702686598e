#pragma once

// What Swift's Glibc module leaves out of sockets; and which user owns the other end of a TCP connection within this
// machine (sock_diag(7)), for which no privilege is needed.

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

// fcntl.h names it for _GNU_SOURCE only. The number is that of all machines that Swift is for.
#ifndef O_PATH
#define O_PATH 010000000
#endif

/// A stream socket that does not block. Its descriptor, or -1 with errno.
static inline int sallyport_stream_socket(int family) {
    return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/// Takes a connection, which does not block. Its descriptor, or -1 with errno.
static inline int sallyport_accept(int listener) {
    int connection;
    do connection = accept(listener, 0, 0); while (connection < 0 && errno == EINTR);
    if (connection < 0) return connection;
    if (fcntl(connection, F_SETFD, FD_CLOEXEC) == 0 && fcntl(connection, F_SETFL, O_NONBLOCK) == 0) return connection;
    int failure = errno;
    close(connection);
    errno = failure;
    return -1;
}

/// What the kernel says of one end of a connection.
struct sallyport_socket_owner {
    /// The user who made the socket; 0 also for a socket that is no longer open in any process.
    unsigned int user;
    /// 0 for a socket that is no longer open in any process.
    unsigned int inode;
    /// Whether it is connected; it may have ended its own side.
    int is_connected;
};

/// A socket that asks for owners. Its descriptor, or a negative errno.
static inline int sallyport_socket_owner_open(void) {
    int descriptor = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (descriptor < 0) return -errno;
    // The kernel has answered when the question was sent; the limit is for the case that it has not.
    struct timeval limit = {.tv_sec = 1};
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0) return descriptor;
    int failure = errno;
    close(descriptor);
    return -failure;
}

/// Puts an address and a port where the kernel expects those of one end. 0 for an address of another family.
static inline int sallyport_socket_owner_place(const struct sockaddr_storage *address, __be32 *bytes, __be16 *port) {
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)address;
        bytes[0] = ipv4->sin_addr.s_addr;
        *port = ipv4->sin_port;
        return 1;
    }
    if (address->ss_family != AF_INET6) return 0;
    const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)address;
    memcpy(bytes, &ipv6->sin6_addr, sizeof ipv6->sin6_addr);
    *port = ipv6->sin6_port;
    return 1;
}

/// The owner of the other end of `connection`, an accepted TCP socket. 0, or a negative errno: ENOENT where the kernel
/// knows of no such socket.
static inline int sallyport_socket_owner_of_peer(
    int netlink, int connection, unsigned int number, struct sallyport_socket_owner *owner) {
    struct sockaddr_storage ours = {0}, theirs = {0};
    socklen_t length = sizeof ours;
    if (getsockname(connection, (struct sockaddr *)&ours, &length) != 0) return -errno;
    length = sizeof theirs;
    if (getpeername(connection, (struct sockaddr *)&theirs, &length) != 0) return -errno;

    // Seen from the other end: its own address is the source.
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 question;
    } request = {0};
    request.header.nlmsg_len = sizeof request;
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.header.nlmsg_flags = NLM_F_REQUEST;
    request.header.nlmsg_seq = number;
    request.question.sdiag_family = theirs.ss_family;
    request.question.sdiag_protocol = IPPROTO_TCP;
    request.question.idiag_states = ~0u;
    struct inet_diag_sockid *place = &request.question.id;
    place->idiag_cookie[0] = place->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    if (!sallyport_socket_owner_place(&theirs, place->idiag_src, &place->idiag_sport)) return -EAFNOSUPPORT;
    if (!sallyport_socket_owner_place(&ours, place->idiag_dst, &place->idiag_dport)) return -EAFNOSUPPORT;

    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t sent = sendto(netlink, &request, sizeof request, 0, (struct sockaddr *)&kernel, sizeof kernel);
    if (sent != (ssize_t)sizeof request) return sent < 0 ? -errno : -EMSGSIZE;

    for (;;) {
        union {
            struct nlmsghdr header;
            char bytes[4096];
        } answer;
        struct sockaddr_nl sender = {0};
        length = sizeof sender;
        ssize_t count = recvfrom(netlink, &answer, sizeof answer, 0, (struct sockaddr *)&sender, &length);
        if (count < 0) return -errno;
        // Any process may send to a netlink socket; and an answer that came too late is for an earlier question.
        if (length != sizeof sender || sender.nl_pid != 0) continue;
        if (count < (ssize_t)sizeof answer.header || answer.header.nlmsg_seq != number) continue;
        if (answer.header.nlmsg_type == NLMSG_ERROR) {
            struct nlmsgerr *failure = NLMSG_DATA(&answer.header);
            if (count < (ssize_t)NLMSG_LENGTH(sizeof *failure)) return -EBADMSG;
            return failure->error < 0 ? failure->error : -EBADMSG;
        }
        if (answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return -EBADMSG;
        if (count < (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg))) return -EBADMSG;
        struct inet_diag_msg *found = NLMSG_DATA(&answer.header);
        // A listening socket on the same port is found where there is no connection.
        if (found->id.idiag_sport != place->idiag_sport || found->id.idiag_dport != place->idiag_dport) return -ENOENT;
        owner->user = found->idiag_uid;
        owner->inode = found->idiag_inode;
        owner->is_connected = found->idiag_state == TCP_ESTABLISHED || found->idiag_state == TCP_FIN_WAIT1 ||
                              found->idiag_state == TCP_FIN_WAIT2;
        return 0;
    }
}

/// The user of the process that connected to a Unix socket, or that listens on it. 0, or a negative errno.
static inline int sallyport_unix_peer(int connection, unsigned int *user) {
    struct { int process; unsigned int user, group; } peer;
    socklen_t length = sizeof peer;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return -errno;
    if (length != sizeof peer) return -EBADMSG;
    *user = peer.user;
    return 0;
}

/// Looks at what is at a path, and opens it in no other way than to keep its inode from becoming another file's. No link
/// is followed. A descriptor, or a negative errno.
static inline int sallyport_hold_file(const char *path, struct stat *file) {
    int descriptor = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (descriptor < 0) return -errno;
    if (fstat(descriptor, file) == 0) return descriptor;
    int failure = errno;
    close(descriptor);
    return -failure;
}

/// Sets the mode of a file that is held. fchmod(2) refuses such a descriptor, whose name in /proc leads to its file
/// whatever stands at the path now. 0, or a negative errno.
static inline int sallyport_set_mode_of_held_file(int descriptor, mode_t mode) {
    char name[32];
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    return chmod(name, mode) == 0 ? 0 : -errno;
}

/// Sends bytes, and with them descriptors, which the receiver gets copies of (unix(7), SCM_RIGHTS). How many bytes were
/// sent, or a negative errno.
static inline long sallyport_send_descriptors(
    int connection, const void *bytes, size_t length, const int *descriptors, size_t count) {
    union {
        struct cmsghdr alignment;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control = {0};
    if (count > 8) return -EINVAL;
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = length};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(count * sizeof(int));
        memcpy(CMSG_DATA(rights), descriptors, count * sizeof(int));
    }
    long sent;
    do sent = sendmsg(connection, &message, MSG_NOSIGNAL); while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

/// Receives bytes, and the descriptors that come with them, at most 8. How many bytes, or a negative errno. Without room
/// for all descriptors the kernel closes the rest.
static inline long sallyport_receive_descriptors(
    int connection, void *bytes, size_t room, int *descriptors, size_t *count) {
    union {
        struct cmsghdr alignment;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = bytes, .iov_len = room};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
    long received;
    do received = recvmsg(connection, &message, MSG_CMSG_CLOEXEC); while (received < 0 && errno == EINTR);
    *count = 0;
    if (received < 0) return -errno;
    for (struct cmsghdr *rights = CMSG_FIRSTHDR(&message); rights; rights = CMSG_NXTHDR(&message, rights)) {
        if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) continue;
        size_t found = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t index = 0; index < found; index++) {
            int descriptor;
            memcpy(&descriptor, CMSG_DATA(rights) + index * sizeof(int), sizeof descriptor);
            if (*count < 8) descriptors[(*count)++] = descriptor; else close(descriptor);
        }
    }
    return received;
}

/// No capability is kept over exec but by what the kernel gives root and by what a file has (capabilities(7)).
static inline void sallyport_clear_ambient_capabilities(void) {
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/// Brings the loopback interface of the process's network namespace up. 0, or a negative errno.
static inline int sallyport_raise_loopback(void) {
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return -errno;
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    int result = ioctl(descriptor, SIOCSIFFLAGS, &request) == 0 ? 0 : -errno;
    close(descriptor);
    return result;
}
