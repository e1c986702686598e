/// How many connections a gateway takes, and how long each may keep it waiting. One value for all its listeners.
public struct ConnectionLimits: Sendable, Hashable {
    /// Unauthenticated connections of one source, an IPv4 address or 64 bits of IPv6; one more takes the place of the oldest.
    public var perSource = 64
    /// Unauthenticated connections of all sources; one more takes the place of the oldest.
    public var unauthenticated = 4096
    /// Authenticated connections of one instance, its tunnels included; one more is closed.
    package var perInstance = 1024 + 64
    /// From the accept to the end of the TLS handshake.
    public var handshakeTime: Duration = .seconds(5)
    /// For the head and the body of a request: from the end of the handshake, and later from a request's first byte.
    public var requestTime: Duration = .seconds(15)
    /// How the descriptors of the process are shared out.
    package var descriptors = DescriptorShares()

    public init() {}
}

/// How the descriptors of the process are shared out among its connections.
package struct DescriptorShares: Sendable, Hashable {
    /// So many connections and dialled servers may be open before unauthenticated connections give way to new ones.
    package var open: Int
    /// So many may be open at all; what is above is for administration, files and look-ups.
    package var all: Int
    /// So many unauthenticated connections may wait between ``open`` and ``all``: a peer that will authenticate has
    /// not done so when it arrives.
    package var arriving: Int

    /// A tenth of `limit` is kept back from who is not authenticated, half of that from everybody.
    ///
    /// - Parameters:
    ///   - limit: how many descriptors the process may have.
    ///   - used: how many it has that are no connections.
    package init(limit: Int = .max / 2, used: Int = 0) {
        let free = max(0, limit - used)
        let kept = min(free, limit / 10)
        open = free - kept
        all = free - kept / 2
        arriving = max(1, kept / 4)
    }
}

/// What the kernel keeps of a listener's connections that were not accepted yet.
enum ListenerLimits {
    /// As many as `net.core.somaxconn` usually lets it: in a flood, what has no place here has to try again a second
    /// later.
    static let backlog: Int32 = 4096
}
