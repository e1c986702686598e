internal import SallyportBase

/// The order in which an instance tries the relays of a cluster, and which of them failed a moment ago: shared by all its
/// connections under one policy, so that one load's failure spares the others theirs.
///
/// Connections are made on several event loops, in callbacks that cannot wait. What they share is one time for each
/// relay, and no relay's time depends on another's.
package final class RelayFailover: Sendable {
    /// In which no relay has failed.
    private let drawn: FailoverOrder
    private let marks: [Mark]

    private final class Mark: Sendable {
        let relay: Endpoint
        /// Until when the relay is tried last.
        let end = PublishedInstant()

        init(_ relay: Endpoint) { self.relay = relay }
    }

    package var count: Int { marks.count }

    init(_ relays: [RelayAccess.Relay]) {
        drawn = FailoverOrder(relays, endpoint: \.endpoint, priority: \.priority)
        marks = drawn.order(at: .now).map(Mark.init)
    }

    /// All relays, in the order in which they are to be tried.
    ///
    /// - Parameter last: is tried last, whatever is known of it.
    package func relays(butLast last: Endpoint? = nil, _ now: ContinuousClock.Instant = .now) -> [Endpoint] {
        let all = order(at: now).order(at: now)
        guard let last, all.contains(last) else { return all }
        return all.filter { $0 != last } + [last]
    }

    package func failed(
        _ relay: Endpoint, for penalty: Duration = FailoverOrder.penalty, _ now: ContinuousClock.Instant = .now
    ) {
        marks.first { $0.relay == relay }?.end.set(now + penalty)
    }

    private func order(at now: ContinuousClock.Instant) -> FailoverOrder {
        var order = drawn
        for mark in marks {
            guard let end = mark.end.value, now < end else { continue }
            order.failed(mark.relay, at: end, for: .zero)
        }
        return order
    }
}
