internal import SallyportBase
internal import SallyportCore
internal import Synchronization

/// A load that other loads may wait for, since its answer may be stored for them.
///
/// One load leads. Those that follow wait for it in short steps and go on their own where it proves of no use: nothing
/// that happens to the leader fails them.
final class Flight: Sendable {
    enum Landing: Sendable {
        /// An answer was stored: look again.
        case stored
        /// The answer cannot be stored.
        case notStorable
        /// The leader failed, was cancelled, or left the answer unread.
        case ended
    }

    private let landing = AwaitedValue<Landing>()
    private let start = ContinuousClock.now
    /// When the leader came on last, in nanoseconds since the start; negative before it has the head.
    private let progress = Atomic<Int64>(-1)
    /// The cache looks at it under its lock.
    private let committing = Atomic(false)

    /// Whether the whole answer is there and only has to be written.
    var isCommitting: Bool { committing.load(ordering: .acquiring) }

    /// The leader has come on: it has the head, or more of the body.
    func progressed() {
        let elapsed = start.duration(to: .now).components
        progress.store(elapsed.seconds * 1_000_000_000 + elapsed.attoseconds / 1_000_000_000, ordering: .relaxed)
    }

    func commits() { committing.store(true, ordering: .releasing) }

    /// The first landing counts.
    func land(_ landing: Landing) { self.landing.set(landing) }

    /// How long followers wait for an answer's head, and how long for a leader that does not read on.
    struct Patience: Sendable {
        var head: Duration = .seconds(10)
        var body: Duration = .seconds(1)
    }

    /// Waits for the landing; ``Landing/notStorable`` where waiting longer makes no sense.
    ///
    /// - Throws: ``LoadError/Code/cancelled``.
    func follow(_ patience: Patience, until deadline: ContinuousClock.Instant) async throws(LoadError) -> Landing {
        let latest = min(deadline, .now + patience.head)
        while !hasStopped(patience.body), ContinuousClock.now < latest {
            let step = min(latest, .now + patience.body)
            let landing = await untilDeadline(step) { await self.landing.wait() }
            if Task.isCancelled { throw .cancelled() }
            if let landing, let landing { return landing }
        }
        return .notStorable
    }

    /// Whether the head is there and nothing came behind it for a while.
    private func hasStopped(_ patience: Duration) -> Bool {
        let last = progress.load(ordering: .relaxed)
        return last >= 0 && start + .nanoseconds(last) + patience <= .now
    }
}

/// The leader's part in a flight. Releasing it without a landing ends the flight.
final class FlightLead: Sendable {
    let flight: Flight
    private let onLanding: @Sendable (Flight) -> Void

    init(_ flight: Flight, onLanding: @escaping @Sendable (Flight) -> Void) {
        self.flight = flight
        self.onLanding = onLanding
    }

    deinit { land(.ended) }

    func land(_ landing: Flight.Landing) {
        onLanding(flight)
        flight.land(landing)
    }
}
