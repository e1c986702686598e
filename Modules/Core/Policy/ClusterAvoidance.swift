internal import SallyportBase

/// Remembers for a while that no relay of a cluster could be reached, so that a route with a secondary cluster does not
/// wait for the first one at each connection. Shared by all connections under one policy.
package final class ClusterAvoidance: Sendable {
    /// How long the cluster is tried last.
    package static let length = Duration.seconds(30)

    private let end = PublishedInstant()

    init() {}

    /// No relay of the cluster could be reached.
    package func begin(_ now: ContinuousClock.Instant = .now) { end.set(now + Self.length) }

    /// One of the cluster's relays was reached.
    package func finish() { end.set(nil) }

    package func holds(at now: ContinuousClock.Instant = .now) -> Bool { end.value.map { now < $0 } ?? false }
}
