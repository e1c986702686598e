internal import SallyportBase

/// In which order versions are offered: TLS 1.2 and 1.3 first, and lower ones only where a handshake with those failed.
package struct TLSVersionOffer: Sendable, Hashable {
    package let first: TLSVersions
    /// What is offered after the first; nil where there is nothing.
    package let fallback: TLSVersions?

    package init(_ allowed: TLSVersions) {
        let standard = allowed.intersection(.standard)
        let lower = allowed.subtracting(.standard)
        first = standard.isEmpty ? lower : standard
        fallback = standard.isEmpty || lower.isEmpty ? nil : lower
    }
}

/// Which servers were reached with which versions, for all that one instance connects with: in memory.
///
/// One lock, a leaf.
package final class TLSVersionHistory: Sendable {
    /// How long a server that was reached with lower versions only is not offered higher ones.
    package static let legacyLifetime = Duration.seconds(600)

    private struct State {
        /// Authenticated once with TLS 1.2 or above.
        var modern: Set<Endpoint> = []
        /// Reached with lower versions, until when that is taken for granted.
        var legacy: [Endpoint: ContinuousClock.Instant] = [:]
    }

    private let state = Lock(State())

    package init() {}

    /// The server has shown that it speaks TLS 1.2 or above.
    package func isModern(_ endpoint: Endpoint) -> Bool { state.withLock { $0.modern.contains(endpoint) } }

    package func reached(_ endpoint: Endpoint, withLowerVersions isLower: Bool) {
        state.withLock { state in
            if isLower {
                state.legacy[endpoint] = .now + Self.legacyLifetime
            } else {
                state.modern.insert(endpoint)
                state.legacy[endpoint] = nil
            }
        }
    }

    package func isLegacy(_ endpoint: Endpoint) -> Bool {
        state.withLock { state in
            guard let end = state.legacy[endpoint] else { return false }
            if end > .now { return true }
            state.legacy[endpoint] = nil
            return false
        }
    }
}
