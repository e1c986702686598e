internal import SallyportBase

/// Limits what is in progress for one realm at once. What is beyond that waits for its turn. Each realm has turns of
/// its own, so that one that is slow, or hostile, delays no other.
actor RealmSlots {
    private struct Realm {
        var used = 0
        /// In order of arrival.
        var waiting: [(number: UInt64, signal: TaskSignal)] = []
    }

    private var realms: [String: Realm] = [:]
    private var lastNumber: UInt64 = 0
    private let limit: Int

    /// - Parameter limit: how much may be in progress for one realm.
    init(limit: Int) { self.limit = limit }

    /// How many tasks wait for a turn.
    var waiterCount: Int { realms.values.reduce(0) { $0 + $1.waiting.count } }

    /// Waits for a turn; each turn must be ended with ``leave(_:)``.
    ///
    /// - Returns: false if the task was cancelled first, or the deadline came first.
    func enter(_ realm: String, until deadline: ContinuousClock.Instant) async -> Bool {
        guard !Task.isCancelled, ContinuousClock.now < deadline else { return false }
        guard realms[realm, default: Realm()].used >= limit else {
            realms[realm, default: Realm()].used += 1
            return true
        }
        lastNumber += 1
        let (number, signal) = (lastNumber, TaskSignal())
        realms[realm]?.waiting.append((number, signal))
        _ = await untilDeadline(deadline) { await signal.wait() }
        // A task that is still in the queue here was cancelled, or is late; one that is no longer in it has its turn.
        guard let index = realms[realm]?.waiting.firstIndex(where: { $0.number == number }) else { return true }
        realms[realm]?.waiting.remove(at: index)
        return false
    }

    /// The task that has waited longest is next.
    func leave(_ realm: String) {
        guard let entry = realms[realm] else { return }
        if !entry.waiting.isEmpty {
            realms[realm]?.waiting.removeFirst().signal.send()
        } else if entry.used > 1 {
            realms[realm]?.used -= 1
        } else {
            realms[realm] = nil
        }
    }
}
