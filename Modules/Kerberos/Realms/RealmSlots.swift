internal import SallyportBase

/// Limits how many messages of one realm are in progress at once: a KDC of MIT Kerberos drops the oldest connection
/// beyond 45, and serves other clients too. Further messages wait for their turn.
actor RealmSlots {
    private struct Realm {
        var used = 0
        /// In order of arrival.
        var waiting: [(number: UInt64, signal: TaskSignal)] = []
    }

    private var realms: [String: Realm] = [:]
    private var lastNumber: UInt64 = 0
    private let limit: Int

    init(limit: Int = 16) { self.limit = limit }

    /// Waits for a turn; each turn must be ended with ``leave(_:)``.
    ///
    /// - Returns: false if the task was cancelled first.
    func enter(_ realm: String) async -> Bool {
        guard !Task.isCancelled else { return false }
        guard realms[realm, default: Realm()].used >= limit else {
            realms[realm, default: Realm()].used += 1
            return true
        }
        lastNumber += 1
        let (number, signal) = (lastNumber, TaskSignal())
        realms[realm]?.waiting.append((number, signal))
        await signal.wait()
        // A task that is still in the queue here was cancelled; one that is no longer in it has its turn.
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
