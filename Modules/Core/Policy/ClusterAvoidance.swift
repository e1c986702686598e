internal import Synchronization

/// Remembers for a while that no relay of a cluster could be reached, so that a route with a secondary cluster does not
/// wait for the first one at each connection. Shared by all connections under one policy.
package final class ClusterAvoidance: Sendable {
    /// How long the cluster is tried last.
    package static let length = Duration.seconds(30)

    private static let start = ContinuousClock.now
    /// Nanoseconds since ``start``.
    private let end = Atomic<Int64>(0)

    init() {}

    /// No relay of the cluster could be reached.
    package func begin(_ now: ContinuousClock.Instant = .now) {
        end.store(Self.nanoseconds(to: now + Self.length), ordering: .relaxed)
    }

    /// One of the cluster's relays was reached.
    package func finish() { end.store(0, ordering: .relaxed) }

    package func holds(at now: ContinuousClock.Instant = .now) -> Bool {
        let end = end.load(ordering: .relaxed)
        return end > 0 && Self.nanoseconds(to: now) < end
    }

    private static func nanoseconds(to instant: ContinuousClock.Instant) -> Int64 {
        let (seconds, attoseconds) = start.duration(to: instant).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
