/// Limits how many tasks do something at the same time; further ones wait, first come, first served.
///
/// A value that an actor keeps. A task that gets a place in the queue waits there, and asks ``isTurn(of:)`` afterwards:
///
/// ```swift
/// if let place = turns.join() {
///     await place.wait(until: deadline)
///     guard turns.isTurn(of: place) else { return }
/// }
/// defer { turns.end() }
/// ```
package struct Turns: Sendable {
    /// A place in the queue.
    package struct Place: Sendable {
        fileprivate let number: UInt64
        fileprivate let signal = TaskSignal()

        /// Waits until its turn comes, the deadline is over or the task is cancelled. Only one task may call this.
        package func wait(until deadline: ContinuousClock.Instant? = nil) async {
            guard let deadline else { return await signal.wait() }
            _ = await untilDeadline(deadline) { await signal.wait() }
        }
    }

    private let limit: Int
    private var count = 0
    /// The one that came first in front.
    private var queue: [Place] = []
    private var lastNumber: UInt64 = 0

    /// - Parameter limit: at least 1.
    package init(limit: Int) { self.limit = limit }

    /// The number of tasks that wait.
    package var waitingCount: Int { queue.count }

    /// - Returns: nil if it is the caller's turn now; otherwise its place in the queue.
    package mutating func join() -> Place? {
        guard count >= limit else {
            count += 1
            return nil
        }
        lastNumber += 1
        let place = Place(number: lastNumber)
        queue.append(place)
        return place
    }

    /// Called once the wait at a place has ended.
    ///
    /// - Returns: true if it is the caller's turn, even if its task was cancelled since: it has to call ``end()``.
    ///   False if the wait ended before; the place has left the queue.
    package mutating func isTurn(of place: Place) -> Bool {
        guard let index = queue.firstIndex(where: { $0.number == place.number }) else { return true }
        queue.remove(at: index)
        return false
    }

    /// Ends a turn; the first of the queue has it next.
    package mutating func end() {
        guard !queue.isEmpty else {
            count -= 1
            return
        }
        queue.removeFirst().signal.send()
    }
}
