internal import SallyportCore

/// The order in which versions are offered: TLS 1.2 and 1.3 first, and lower ones only after a handshake with those
/// failed.
struct TLSVersionOffer: Sendable, Hashable {
    let first: TLSVersions
    /// What is offered in the second handshake; nil if there is none.
    let fallback: TLSVersions?

    init(_ allowed: TLSVersions, fallsBack: Bool = true) {
        let standard = allowed.intersection(.standard)
        let lower = allowed.subtracting(.standard)
        first = standard.isEmpty ? lower : standard
        fallback = !fallsBack || standard.isEmpty || lower.isEmpty ? nil : lower
    }
}

/// What one handshake offers.
struct TLSVersionStep: Sendable, Hashable {
    var versions: TLSVersions
    /// Lower versions are offered because a handshake with higher ones failed; the server is told so (RFC 7507).
    var isFallback = false
    /// What is offered if this handshake fails; nil if nothing is.
    var next: TLSVersions?
}

/// Which servers were reached with which TLS versions. Kept in memory for the life of the connector.
struct TLSVersionHistory: Sendable {
    /// How long a server that was reached only with lower versions is not offered higher ones.
    static let legacyLifetime = Duration.seconds(600)
    /// The greatest number of servers of each kind. Servers can lead an app to any number of names.
    static let limit = 10_000

    /// Servers that were once authenticated with TLS 1.2 or above; they are never offered a lower version. None of them
    /// is forgotten: once there are as many as the limit, every server that is not known counts as one of them.
    private var modern: Set<Endpoint> = []
    /// Servers that were reached with lower versions, and until when only those are offered. Beyond the limit the one
    /// whose time ends first is forgotten.
    private var legacy: [Endpoint: ContinuousClock.Instant] = [:]

    func step(
        _ offer: TLSVersionOffer, to endpoint: Endpoint, at now: ContinuousClock.Instant
    ) -> TLSVersionStep {
        guard let lower = offer.fallback, !modern.contains(endpoint) else {
            return TLSVersionStep(versions: offer.first)
        }
        guard let end = legacy[endpoint] else {
            return TLSVersionStep(versions: offer.first, next: modern.count < Self.limit ? lower : nil)
        }
        if end > now { return TLSVersionStep(versions: lower, isFallback: true) }
        return TLSVersionStep(versions: offer.first, next: lower)
    }

    mutating func reached(
        _ endpoint: Endpoint, withLowerVersions isLower: Bool, at now: ContinuousClock.Instant
    ) {
        guard isLower else {
            legacy[endpoint] = nil
            if modern.count < Self.limit { modern.insert(endpoint) }
            return
        }
        legacy[endpoint] = now + Self.legacyLifetime
        guard legacy.count > Self.limit, let oldest = legacy.min(by: { $0.value < $1.value }) else { return }
        legacy[oldest.key] = nil
    }
}
