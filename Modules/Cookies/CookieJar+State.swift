internal import SallyportCore

extension CookieJar {
    /// State that threads share under one lock instead of the actor: each request reads it, and a call of the actor
    /// would cost more than the cookies themselves.
    struct State {
        var table = CookieTable()
        var isLoaded = false
        /// How often the memory was cleared.
        var generation: UInt64 = 0
        var isShutDown = false
        /// By number: the changes that were not written to the store yet.
        var pending: [UInt64: Pending] = [:]
        /// Where principals' credentials were cleared while the cookies were not in memory.
        var cleared: [Principal: Set<Host>] = [:]
        var lastVersion: UInt64 = 0
        /// The number of changes reported.
        var changes: UInt64 = 0
        /// Whether a task writes, or will write, the pending changes.
        var isWriteDue = false
        /// Whether the store is read-only: no change is pending then.
        var isReadOnly = false
    }

    struct Pending {
        var change: CookieStorage.Change
        /// Incremented by each change, so that a write notices a change that was made meanwhile.
        var version: UInt64
    }
}

extension CookieJar.State {
    mutating func note(_ effect: CookieTable.Effect) {
        guard !isReadOnly else { return }
        switch effect {
        case .set(let entry, let old, let principal):
            if entry.isPersistent {
                note(.put(CookieRecord(entry, of: principal).bytes), entry.number)
            } else if let old, old.isPersistent {
                note(.remove, entry.number)
            }
        case .removed(let entry, _, _):
            if entry.isPersistent { note(.remove, entry.number) }
        case .touched(let entry, let principal):
            note(.put(CookieRecord(entry, of: principal).bytes), entry.number)
        }
    }

    private mutating func note(_ change: CookieStorage.Change, _ number: UInt64) {
        lastVersion += 1
        pending[number] = CookieJar.Pending(change: change, version: lastVersion)
    }
}
