internal import SallyportCore

/// In which order versions are offered: TLS 1.2 and 1.3 first, and lower ones only where a handshake with those failed.
struct TLSVersionOffer: Sendable, Hashable {
    let first: TLSVersions
    /// What is offered after the first; nil where there is nothing.
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
    /// Lower versions are offered because a handshake with higher ones failed, which the server is told (RFC 7507).
    var isFallback = false
    /// Offered once more where this handshake fails; nil where nothing is.
    var next: TLSVersions?
}

/// Which servers were reached with which versions of TLS. In memory, as long as its connector.
struct TLSVersionHistory: Sendable {
    /// How long a server that was reached with lower versions only is not offered higher ones.
    static let legacyLifetime = Duration.seconds(600)

    /// Authenticated once with TLS 1.2 or above: they are never offered less.
    private var modern: Set<Endpoint> = []
    /// Reached with lower versions, until when that is taken for granted.
    private var legacy: [Endpoint: ContinuousClock.Instant] = [:]

    mutating func step(
        _ offer: TLSVersionOffer, to endpoint: Endpoint, at now: ContinuousClock.Instant
    ) -> TLSVersionStep {
        guard let lower = offer.fallback, !modern.contains(endpoint) else {
            return TLSVersionStep(versions: offer.first)
        }
        if let end = legacy[endpoint] {
            if end > now { return TLSVersionStep(versions: lower, isFallback: true) }
            legacy[endpoint] = nil
        }
        return TLSVersionStep(versions: offer.first, next: lower)
    }

    mutating func reached(
        _ endpoint: Endpoint, withLowerVersions isLower: Bool, at now: ContinuousClock.Instant
    ) {
        if isLower {
            legacy[endpoint] = now + Self.legacyLifetime
        } else {
            modern.insert(endpoint)
            legacy[endpoint] = nil
        }
    }
}
