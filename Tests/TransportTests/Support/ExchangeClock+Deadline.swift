import SallyportEventLoop

@testable import SallyportTransport

extension ExchangeClock {
    /// - Parameter deadline: nil for no deadline.
    init(deadline: ContinuousClock.Instant?, idleTimeout: Duration) {
        let due = deadline.map { LoopInstant.now.advanced(by: ContinuousClock.now.duration(to: $0)) } ?? .never
        self.init(due: due, idleTimeout: idleTimeout)
    }
}
