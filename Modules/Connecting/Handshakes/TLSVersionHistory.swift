internal import SallyportCore
internal import SallyportTransport

/// Which servers were reached with which TLS versions. Kept in memory for the life of the connector.
struct TLSVersionHistory: Sendable {
    /// How long a server that was reached only with lower versions is not offered higher ones.
    static let legacyLifetime = Duration.seconds(600)
    /// The greatest number of servers of each kind. Servers can lead an app to any number of names.
    static let limit = 10_000

    /// Servers that were once authenticated with TLS 1.2 or above; they are never offered a lower version. None of them
    /// is forgotten: once there are as many as the limit, every server that is not known counts as one of them.
    private struct Modern {
        private var servers: Set<Endpoint> = []

        var isFull: Bool { servers.count >= TLSVersionHistory.limit }

        func contains(_ endpoint: Endpoint) -> Bool { servers.contains(endpoint) }

        mutating func insert(_ endpoint: Endpoint) {
            if !isFull { servers.insert(endpoint) }
        }
    }

    private let control: ControlTLSVersions
    private var modern = Modern()
    /// The modern ones among the hosts that the setting names. They are counted apart, so that these hosts are offered
    /// lower versions however many other servers an app reaches.
    private var named = Modern()
    /// Servers that were reached with lower versions, and until when only those are offered. Beyond the limit the one
    /// whose time ends first is forgotten.
    private var legacy: [Endpoint: ContinuousClock.Instant] = [:]

    init(_ control: ControlTLSVersions = ControlTLSVersions()) { self.control = control }

    func step(
        _ offer: TLSVersionOffer, to endpoint: Endpoint, at now: ContinuousClock.Instant
    ) -> TLSVersionStep {
        let known = control.hasItem(for: endpoint.host) ? named : modern
        guard let lower = offer.fallback, !known.contains(endpoint) else {
            return TLSVersionStep(versions: offer.first)
        }
        guard let end = legacy[endpoint] else {
            return TLSVersionStep(versions: offer.first, next: known.isFull ? nil : lower)
        }
        if end > now { return TLSVersionStep(versions: lower, isFallback: true) }
        return TLSVersionStep(versions: offer.first, next: lower)
    }

    /// Notes a handshake that has succeeded. A server that was not authenticated may be an attacker's, which could keep
    /// an app from its old server by speaking a higher version once, and have a modern server offered only lower
    /// versions by speaking one of those. A lower version says something of the server only if higher ones were offered
    /// before.
    mutating func note(_ agreed: AgreedVersion, at now: ContinuousClock.Instant) {
        guard agreed.isAuthenticated else { return }
        let isLower = agreed.version < .tls12
        guard agreed.isFallback || !isLower else { return }
        reached(agreed.endpoint, withLowerVersions: isLower, at: now)
    }

    mutating func reached(
        _ endpoint: Endpoint, withLowerVersions isLower: Bool, at now: ContinuousClock.Instant
    ) {
        guard isLower else {
            legacy[endpoint] = nil
            return noteModern(endpoint)
        }
        legacy[endpoint] = now + Self.legacyLifetime
        guard legacy.count > Self.limit, let oldest = legacy.min(by: { $0.value < $1.value }) else { return }
        legacy[oldest.key] = nil
    }

    private mutating func noteModern(_ endpoint: Endpoint) {
        if control.hasItem(for: endpoint.host) { named.insert(endpoint) } else { modern.insert(endpoint) }
    }
}
