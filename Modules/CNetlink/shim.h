#pragma once

// The kernel's routing sockets (rtnetlink(7)), whose address Swift's Glibc module does not know.

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/// A socket that hears of links, addresses and routes. Its descriptor, or a negative errno.
static inline int sallyport_netlink_open(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) return -errno;
    struct sockaddr_nl address = {.nl_family = AF_NETLINK};
    address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE;
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    int failure = errno;
    close(descriptor);
    return -failure;
}

/// The socket's own port, by which the kernel names whom it answers; 0 where it has none.
static inline unsigned int sallyport_netlink_port(int descriptor) {
    struct sockaddr_nl address = {0};
    socklen_t length = sizeof address;
    if (getsockname(descriptor, (struct sockaddr *)&address, &length) != 0) return 0;
    return address.nl_pid;
}

/// Sends bytes to the kernel. 0, or a negative errno.
static inline int sallyport_netlink_send(int descriptor, const void *bytes, size_t length) {
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    ssize_t sent = sendto(descriptor, bytes, length, 0, (struct sockaddr *)&kernel, sizeof kernel);
    return sent == (ssize_t)length ? 0 : sent < 0 ? -errno : -EMSGSIZE;
}

/// Receives one datagram: its whole length, which may be more than there was room for, or a negative errno. `sender` is
/// the port that sent it, 0 for the kernel: any process of the machine may send.
static inline long sallyport_netlink_receive(int descriptor, void *bytes, size_t room, unsigned int *sender) {
    struct sockaddr_nl address = {0};
    socklen_t length = sizeof address;
    ssize_t count = recvfrom(descriptor, bytes, room, MSG_TRUNC, (struct sockaddr *)&address, &length);
    if (count < 0) return -errno;
    *sender = length == sizeof address ? address.nl_pid : ~0u;
    return count;
}

// What `NetlinkMessage` calls by its number.
_Static_assert(NLMSG_ERROR == 2 && NLMSG_DONE == 3 && NLMSG_OVERRUN == 4, "netlink");
_Static_assert(RTM_NEWLINK == 16 && RTM_DELLINK == 17 && RTM_GETLINK == 18, "links");
_Static_assert(RTM_NEWADDR == 20 && RTM_DELADDR == 21 && RTM_GETADDR == 22, "addresses");
_Static_assert(RTM_NEWROUTE == 24 && RTM_DELROUTE == 25 && RTM_GETROUTE == 26, "routes");
_Static_assert(NLM_F_REQUEST == 1 && NLM_F_DUMP == 0x300 && NLM_F_DUMP_INTR == 0x10, "flags");
_Static_assert(IFLA_IFNAME == 3 && IFLA_LINKINFO == 18 && IFLA_INFO_KIND == 1, "link attributes");
_Static_assert(IFA_ADDRESS == 1 && IFA_LOCAL == 2 && IFA_FLAGS == 8, "address attributes");
_Static_assert(IFA_F_TENTATIVE == 0x40 && IFA_F_DADFAILED == 8, "address flags");
_Static_assert(RTA_DST == 1 && RTA_OIF == 4 && RTA_PRIORITY == 6 && RTA_MULTIPATH == 9 && RTA_TABLE == 15, "routes");
_Static_assert(RTN_UNICAST == 1 && RTN_LOCAL == 2 && RTN_BLACKHOLE == 6 && RTN_THROW == 9, "kinds of routes");
_Static_assert(RTM_F_CLONED == 0x200 && RTNH_F_DEAD == 1 && RTNH_F_LINKDOWN == 16, "flags of routes");
_Static_assert(RT_TABLE_DEFAULT == 253 && RT_TABLE_MAIN == 254 && RT_TABLE_LOCAL == 255, "tables");
_Static_assert(IFF_UP == 1 && IFF_RUNNING == 0x40, "flags of links");
_Static_assert(ARPHRD_ETHER == 1 && ARPHRD_LOOPBACK == 772 && ARPHRD_RAWIP == 519 && ARPHRD_NONE == 0xfffe, "hardware");
