/// In which order the equivalent servers of a cluster or a fleet are tried: by priority, at random among equals, and one
/// that failed a moment ago after all others. A value without a clock.
package struct FailoverOrder: Sendable, Hashable {
    /// How long a server that failed is tried last.
    package static let penalty = Duration.seconds(30)

    private let drawn: [Endpoint]
    /// Until when those that failed are tried last.
    private var failures: [Endpoint: ContinuousClock.Instant] = [:]

    /// Of no server.
    package init() { drawn = [] }

    /// Draws the order; it stays the same from then on.
    package init<Server>(
        _ servers: [Server], endpoint: (Server) -> Endpoint, priority: (Server) -> Int,
        shuffle: ([Server]) -> [Server] = { $0.shuffled() }
    ) {
        var drawn: [Endpoint] = []
        for server in ServerSelection.order(servers, priority: priority, shuffle: shuffle).map(endpoint)
        where !drawn.contains(server) {
            drawn.append(server)
        }
        self.drawn = drawn
    }

    package var count: Int { drawn.count }

    /// All servers. If all have failed, the one whose time is over first comes first.
    package func order(at now: ContinuousClock.Instant) -> [Endpoint] {
        guard !failures.isEmpty else { return drawn }
        let avoided = drawn.filter { isAvoided($0, at: now) }.map { ($0, failures[$0] ?? now) }
        return drawn.filter { !isAvoided($0, at: now) } + avoided.sorted { $0.1 < $1.1 }.map(\.0)
    }

    package func isAvoided(_ server: Endpoint, at now: ContinuousClock.Instant) -> Bool {
        failures[server].map { now < $0 } ?? false
    }

    /// Whether a server is left that has not failed a moment ago.
    ///
    /// - Parameter server: one that does not count.
    package func hasFresh(at now: ContinuousClock.Instant, besides server: Endpoint? = nil) -> Bool {
        drawn.contains { $0 != server && !isAvoided($0, at: now) }
    }

    package mutating func failed(
        _ server: Endpoint, at now: ContinuousClock.Instant, for penalty: Duration = penalty
    ) {
        guard drawn.contains(server) else { return }
        failures[server] = now + penalty
    }

    package mutating func answered(_ server: Endpoint) { failures[server] = nil }

    /// Takes over what is known of the servers that both have.
    package mutating func takeFailures(of other: FailoverOrder) {
        failures = other.failures.filter { drawn.contains($0.key) }
    }
}
