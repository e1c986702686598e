internal import SallyportBase
internal import SallyportCore
internal import Synchronization

/// A load that other loads may wait for, since its answer may be stored for them.
///
/// One load leads. Its followers wait in short steps and load on their own if waiting does not help: a failure of the
/// leader never makes them fail.
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
    /// When the leader last made progress, in nanoseconds since the start; negative until it has the head.
    private let progress = Atomic<Int64>(-1)
    /// The cache reads it under its lock.
    private let committing = Atomic(false)

    /// Whether the whole answer has arrived and is being written.
    var isCommitting: Bool { committing.load(ordering: .acquiring) }

    /// The leader has made progress: it has the head, or more of the body.
    func progressed() {
        let elapsed = start.duration(to: .now).components
        progress.store(elapsed.seconds * 1_000_000_000 + elapsed.attoseconds / 1_000_000_000, ordering: .relaxed)
    }

    func commits() { committing.store(true, ordering: .releasing) }

    /// Only the first landing counts.
    func land(_ landing: Landing) { self.landing.set(landing) }

    /// How long followers wait for an answer's head, and for a leader that stops reading.
    struct Patience: Sendable {
        var head: Duration = .seconds(10)
        var body: Duration = .seconds(1)
    }

    /// Waits for the landing; returns ``Landing/notStorable`` if further waiting makes no sense.
    ///
    /// - Parameter latest: when the load stops waiting, whatever number of flights it has followed by then.
    /// - Throws: ``LoadError/Code/cancelled``.
    func follow(_ patience: Patience, until latest: ContinuousClock.Instant) async throws(LoadError) -> Landing {
        while !hasStopped(patience.body), ContinuousClock.now < latest {
            let step = min(latest, .now + patience.body)
            let landing = await untilDeadline(step) { await self.landing.wait() }
            if Task.isCancelled { throw .cancelled() }
            if let landing, let landing { return landing }
        }
        return .notStorable
    }

    /// Whether the head has arrived and no part of the body followed for a while.
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
