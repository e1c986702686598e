/// The kind of a network interface.
public enum InterfaceKind: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// Ethernet and combinations of it: bonds, teams, VLANs.
    case wired
    /// A wireless LAN.
    case wireless
    /// A mobile network.
    case cellular
    /// Tunnels: WireGuard, TUN, PPP, GRE and similar. The interface below is not known.
    case tunnel
    /// Virtual links of containers and virtual machines: a virtual pair, a bridge and similar.
    case virtual
    /// The loopback interface.
    case loopback

    public var description: String { rawValue }
}

/// The facts that determine the kind of an interface.
struct InterfaceFacts: Sendable, Hashable {
    /// `ARPHRD_…`.
    var hardware: UInt16
    /// The kernel's name for a virtual interface's type; nil for a driver's interface.
    var made: String?
    /// From sysfs, if it describes this interface.
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
