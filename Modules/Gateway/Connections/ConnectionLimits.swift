/// How many connections a gateway accepts, and how long each may take. All of its listeners share one value.
public struct ConnectionLimits: Sendable, Hashable {
    /// Unauthenticated connections of one source, an IPv4 address or a /64 of IPv6. A further one replaces the oldest.
    public var perSource = 64
    /// Unauthenticated connections of all sources. A further one replaces the oldest.
    public var unauthenticated = 4096
    /// Authenticated connections of one instance, including its tunnels. A further one is closed.
    package var perInstance = 1024 + 64
    /// The time from accepting a connection to the end of the TLS handshake.
    public var handshakeTime: Duration = .seconds(5)
    /// The time for head and body of a request: from the end of the handshake, and later from a request's first byte.
    public var requestTime: Duration = .seconds(15)
    /// How the descriptors of the process are divided.
    package var descriptors = DescriptorShares()

    /// The default limits, as each property states them.
    public init() {}
}

/// How the descriptors of the process are divided among its connections.
package struct DescriptorShares: Sendable, Hashable {
    /// The number of connections, to and from the gateway, beyond which a new one replaces an unauthenticated one.
    package var open: Int
    /// The greatest number of connections at all; the descriptors above it are for administration, files and look-ups.
    package var all: Int
    /// How many unauthenticated connections may be open between ``open`` and ``all``: a peer that will authenticate has
    /// not yet done so when it connects.
    package var arriving: Int

    /// Keeps a tenth of `limit` from unauthenticated connections, and half of that tenth from all connections.
    ///
    /// - Parameters:
    ///   - limit: the number of descriptors that the process may have.
    ///   - used: the number that it has open for other things than connections.
    package init(limit: Int = .max / 2, used: Int = 0) {
        let free = max(0, limit - used)
        let kept = min(free, limit / 10)
        open = free - kept
        all = free - kept / 2
        arriving = max(1, kept / 4)
    }
}

/// The kernel's queue of connections that a listener has not accepted yet.
enum ListenerLimits {
    /// The usual value of `net.core.somaxconn`. In a flood, a client that finds no place in this queue tries again
    /// after a second.
    static let backlog: Int32 = 4096
}
