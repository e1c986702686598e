package import SallyportCore
package import SallyportLoading

/// What a tunnel is to be.
package struct TunnelRequest: Sendable {
    package var endpoint: Endpoint
    /// Whether TLS is spoken with the server, by the versions, trust and identity of the path.
    package var isSecure: Bool
    /// The longest time until the tunnel stands, for each relay tried.
    package var connectTimeout: Duration = .seconds(10)
    /// What the server is offered in ALPN, the best first; each name of 1 to 255 octets.
    package var applicationProtocols: [String] = []
    /// The longest time in which nothing comes and nothing goes; none where nil.
    package var idleTimeout: Duration?
    /// Whether ``idleTimeout`` counts also while nobody reads and nothing waits to be sent; else it begins anew with each
    /// read and each write.
    package var countsPauses = true
    /// The end of the tunnel, whatever goes on; none where nil.
    package var deadline: ContinuousClock.Instant?
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
