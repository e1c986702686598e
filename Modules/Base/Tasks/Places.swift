internal import Synchronization

/// How much is under way at once, counted by any thread without waiting.
package final class Places: Sendable {
    private let count = Atomic(0)

    package init() {}

    package var taken: Int { count.load(ordering: .relaxed) }

    package func take() { count.add(1, ordering: .relaxed) }

    /// - Returns: false if `limit` places are taken already.
    package func take(of limit: Int) -> Bool {
        var known = taken
        while known < limit {
            let (isDone, found) = count.compareExchange(expected: known, desired: known + 1, ordering: .relaxed)
            if isDone { return true }
            known = found
        }
        return false
    }

    package func free() { count.subtract(1, ordering: .relaxed) }
}
