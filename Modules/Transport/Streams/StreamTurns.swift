internal import SallyportBase

/// The exchanges that take turns with a stream, first come, first served. A value; the actor's tasks wait.
struct StreamTurns {
    private var isTaken = false
    private var waiting: [(number: UInt64, signal: TaskSignal)] = []
    private var lastNumber: UInt64 = 0

    /// - Returns: nil if it is the caller's turn now; otherwise the signal to wait for, and the number for
    ///   ``leave(_:)``.
    mutating func join() -> (number: UInt64, signal: TaskSignal)? {
        guard isTaken else {
            isTaken = true
            return nil
        }
        lastNumber += 1
        let entry = (lastNumber, TaskSignal())
        waiting.append(entry)
        return entry
    }

    /// Called when the wait has ended.
    ///
    /// - Returns: false if it is the caller's turn; true if it was given up before.
    mutating func leave(_ number: UInt64) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return false }
        waiting.remove(at: index)
        return true
    }

    /// The turn is over: the exchange that has waited longest is next.
    mutating func end() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().signal.send() }
    }
}
