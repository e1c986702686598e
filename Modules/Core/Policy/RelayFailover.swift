internal import SallyportBase

/// The order in which an instance tries the relays of a cluster, and which of them failed a moment ago: shared by all its
/// connections under one policy, so that one load's failure spares the others theirs.
///
/// A lock, because connections are made on several event loops, in callbacks that cannot wait.
package final class RelayFailover: Sendable {
    private let order: Lock<FailoverOrder>
    package let count: Int

    init(_ relays: [RelayAccess.Relay]) {
        let drawn = FailoverOrder(relays, endpoint: \.endpoint, priority: \.priority)
        count = drawn.count
        order = Lock(drawn)
    }

    /// All relays, in the order in which they are to be tried.
    ///
    /// - Parameter last: is tried last, whatever is known of it.
    package func relays(butLast last: Endpoint? = nil, _ now: ContinuousClock.Instant = .now) -> [Endpoint] {
        let all = order.withLock { $0.order(at: now) }
        guard let last, all.contains(last) else { return all }
        return all.filter { $0 != last } + [last]
    }

    package func failed(
        _ relay: Endpoint, for penalty: Duration = FailoverOrder.penalty, _ now: ContinuousClock.Instant = .now
    ) {
        order.withLock { $0.failed(relay, at: now, for: penalty) }
    }
}
