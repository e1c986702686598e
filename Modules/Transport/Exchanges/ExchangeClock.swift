internal import SallyportBase
internal import SallyportCore
internal import SallyportEventLoop

/// The time limits of an exchange: its deadline, and how long it may go without a byte. A value.
struct ExchangeClock {
    private let deadline: LoopInstant
    private let idleTimeout: Duration
    private let idleNanoseconds: Int64
    private(set) var lastActivity = LoopInstant.never

    init(due deadline: LoopInstant, idleTimeout: Duration) {
        self.deadline = deadline
        self.idleTimeout = idleTimeout
        idleNanoseconds = idleTimeout.wholeNanoseconds
    }

    mutating func active(at now: LoopInstant) { lastActivity = now }

    /// The earliest instant at which the exchange may be overdue. Time spent waiting for a connection is not idle time.
    func dueAt(hasBegun: Bool) -> LoopInstant {
        hasBegun ? min(deadline, lastActivity.advanced(byNanoseconds: idleNanoseconds)) : deadline
    }

    /// - Parameters:
    ///   - isPaused: whether this side has paused the exchange; such time is not counted.
    ///   - step: how far the exchange has come.
    mutating func overdue(
        at now: LoopInstant, hasBegun: Bool, isPaused: Bool, step: LoadError.Step
    ) -> LoadError? {
        if now >= deadline { return LoadError(.resourceTimeout, at: step, "The time for the whole load is over.") }
        if isPaused { lastActivity = now }
        guard now >= dueAt(hasBegun: hasBegun) else { return nil }
        return LoadError(.idleTimeout, at: step, "No byte came or went for \(idleTimeout).")
    }
}
