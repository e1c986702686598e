package import SallyportCore
package import SallyportLoading

/// The settings of a tunnel to be opened.
package struct TunnelRequest: Sendable {
    package var endpoint: Endpoint
    /// Whether the tunnel uses TLS to the server, with the versions, trust and identity of the path.
    package var isSecure: Bool
    /// The longest time until the tunnel is open, for each relay tried.
    package var connectTimeout: Duration = .seconds(10)
    /// The protocols offered in ALPN, the preferred one first; each name of 1 to 255 bytes.
    package var applicationProtocols: [String] = []
    /// The longest time without a byte in either direction; no limit if nil.
    package var idleTimeout: Duration?
    /// Whether ``idleTimeout`` also counts while no task reads and nothing waits to be sent. If false, it begins anew
    /// with each read and each write.
    package var countsPauses = true
    /// The instant at which the tunnel ends, even if it is in use; none if nil.
    package var deadline: ContinuousClock.Instant?
    /// Whether the caller goes on through another cluster of relays if none of this path's serves. A relay that is there no
    /// longer then ends the attempt with ``LoadError/Code/relayUnreachable``, if what was asked for may be repeated.
    package var hasOtherCluster = false
    /// Called on the loop when the tunnel has ended, or could not be opened; it must not block.
    package var reporter: (@Sendable (ExchangeReport) -> Void)?

    package init(to endpoint: Endpoint, isSecure: Bool = false) {
        self.endpoint = endpoint
        self.isSecure = isSecure
    }

    var limits: TunnelLimits {
        TunnelLimits(idleTimeout: idleTimeout, countsPauses: countsPauses, deadline: deadline)
    }
}
