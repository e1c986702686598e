/// What kind of network interface leads somewhere.
public enum InterfaceKind: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// Ethernet and what is bundled of it: bonds, teams, VLANs.
    case wired
    /// A wireless LAN.
    case wireless
    /// A mobile network.
    case cellular
    /// Packets in packets: WireGuard, TUN, PPP, GRE and their kin. What lies below is not known.
    case tunnel
    /// One end of a pair, a bridge, and whatever else containers and virtual machines are connected by.
    case virtual
    /// The host itself.
    case loopback

    public var description: String { rawValue }
}

/// What decides on the kind of an interface.
struct InterfaceFacts: Sendable, Hashable {
    /// `ARPHRD_…`.
    var hardware: UInt16
    /// What the kernel calls it that made it; nil for what a driver made.
    var made: String?
    /// What sysfs says, where it speaks of this interface.
    var isWirelessLAN = false
    var isMobile = false

    var kind: InterfaceKind {
        if hardware == 772 { return .loopback }
        if isMobile || hardware == 519 { return .cellular }
        if isWirelessLAN || (801...803).contains(hardware) { return .wireless }
        if Self.tunnels.contains(hardware) { return .tunnel }
        switch made {
        case nil: return hardware == 1 || hardware == 32 ? .wired : .virtual
        case "bond", "team", "vlan": return .wired
        case let made?: return Self.tunnelNames.contains(made) ? .tunnel : .virtual
        }
    }

    /// PPP, TUNNEL, TUNNEL6, SIT, IPGRE, IP6GRE, and NONE, which TUN and WireGuard have.
    private static let tunnels: Set<UInt16> = [512, 768, 769, 776, 778, 823, 0xfffe]
    private static let tunnelNames: Set<String> = [
        "tun", "wireguard", "ipip", "sit", "gre", "gretap", "erspan", "ip6tnl", "ip6gre", "ip6gretap", "vti", "vti6",
        "xfrm", "vxlan", "geneve", "ppp", "l2tp", "fou", "bareudp",
    ]
}
