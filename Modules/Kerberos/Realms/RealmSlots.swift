internal import SallyportCore

/// How many messages of one realm are under way at once: a KDC of MIT Kerberos drops the oldest connection beyond 45, and
/// serves others too. Those beyond wait for their turn. Lock: a leaf.
final class RealmSlots: Sendable {
    private struct Realm {
        var used = 0
        /// In the order of their numbers.
        var waiting: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private struct State {
        var next: UInt64 = 0
        var realms: [String: Realm] = [:]
    }

    private let state = Lock(State())
    private let limit: Int

    init(limit: Int = 16) { self.limit = limit }

    /// Waits for a turn; each that came is given back with ``leave(_:)``.
    ///
    /// - Returns: false where the task was cancelled before.
    func enter(_ realm: String) async -> Bool {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let hasTurn = state.withLock { state -> Bool? in
                    // Cancelled before it waits: the handler ran already and found nobody.
                    if Task.isCancelled { return false }
                    var entry = state.realms[realm] ?? Realm()
                    defer { state.realms[realm] = entry }
                    if entry.used < limit {
                        entry.used += 1
                        return true
                    }
                    entry.waiting.append((number, continuation))
                    return nil
                }
                if let hasTurn { continuation.resume(returning: hasTurn) }
            }
        } onCancel: {
            let waiting = state.withLock { state -> CheckedContinuation<Bool, Never>? in
                guard let index = state.realms[realm]?.waiting.firstIndex(where: { $0.number == number }) else {
                    return nil
                }
                return state.realms[realm]?.waiting.remove(at: index).continuation
            }
            waiting?.resume(returning: false)
        }
    }

    /// Whoever has waited longest is next.
    func leave(_ realm: String) {
        let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard var entry = state.realms[realm] else { return nil }
            guard entry.waiting.isEmpty else {
                let next = entry.waiting.removeFirst().continuation
                state.realms[realm] = entry
                return next
            }
            entry.used -= 1
            state.realms[realm] = entry.used > 0 ? entry : nil
            return nil
        }
        next?.resume(returning: true)
    }
}
