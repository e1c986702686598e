internal import SallyportBase

/// Limits how many connections to servers are opened at the same time; further ones wait in a queue.
struct OpeningTurns {
    /// One that waits for its turn.
    struct Waiting: Sendable {
        let number: UInt64
        /// When it has waited for too long.
        let due: ContinuousClock.Instant
        /// Sent when its turn has come, and when it is due.
        let signal: TaskSignal
    }

    private let limit: Int
    private var count = 0
    /// Those that wait, the one that came first in front.
    private var waiting: [Waiting] = []
    private var lastNumber: UInt64 = 0

    init(limit: Int) { self.limit = limit }

    var waitingCount: Int { waiting.count }

    /// - Returns: what the caller waits by, before it asks ``isTurn(of:)``; nil if its turn has come at once.
    mutating func begin(waitingUntil due: ContinuousClock.Instant) -> Waiting? {
        guard count >= limit else {
            count += 1
            return nil
        }
        lastNumber += 1
        let entry = Waiting(number: lastNumber, due: due, signal: TaskSignal())
        waiting.append(entry)
        return entry
    }

    /// Whether the turn of one that has waited has come. If not, because it was due or its task was cancelled, it
    /// leaves the queue.
    mutating func isTurn(of number: UInt64) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return true }
        waiting.remove(at: index)
        return false
    }

    /// Ends a turn; the first of the queue has it next.
    mutating func end() {
        guard !waiting.isEmpty else {
            count -= 1
            return
        }
        waiting.removeFirst().signal.send()
    }

    /// Ends the waits that are due. Each leaves the queue when its task asks ``isTurn(of:)``, unless its turn comes before.
    func endOverdue(at now: ContinuousClock.Instant) {
        for entry in waiting.prefix(while: { $0.due <= now }) { entry.signal.send() }
    }
}
