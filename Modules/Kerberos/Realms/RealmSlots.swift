internal import SallyportBase

/// How many messages of one realm are under way at once: a KDC of MIT Kerberos drops the oldest connection beyond 45, and
/// serves others too. Those beyond wait for their turn. Lock: a leaf.
final class RealmSlots: Sendable {
    private struct Realm {
        var used = 0
        /// In the order in which they came.
        var waiting: [Waiter<Bool>] = []
    }

    private let realms = Lock<[String: Realm]>([:])
    private let limit: Int

    init(limit: Int = 16) { self.limit = limit }

    /// Waits for a turn; each that came is given back with ``leave(_:)``.
    ///
    /// - Returns: false where the task was cancelled before.
    func enter(_ realm: String) async -> Bool {
        await realms.wait(orCancelled: false) { [limit] realms, waiter in
            guard realms[realm, default: Realm()].used >= limit else {
                realms[realm, default: Realm()].used += 1
                return true
            }
            realms[realm]?.waiting.append(waiter)
            return nil
        } leave: { realms, number in
            guard let index = realms[realm]?.waiting.firstIndex(where: { $0.number == number }) else { return nil }
            return realms[realm]?.waiting.remove(at: index)
        }
    }

    /// Whoever has waited longest is next.
    func leave(_ realm: String) {
        let next = realms.withLock { realms -> Waiter<Bool>? in
            guard let entry = realms[realm] else { return nil }
            if !entry.waiting.isEmpty { return realms[realm]?.waiting.removeFirst() }
            if entry.used > 1 { realms[realm]?.used -= 1 } else { realms[realm] = nil }
            return nil
        }
        next?.resume(returning: true)
    }
}
