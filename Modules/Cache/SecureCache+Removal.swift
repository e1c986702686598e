internal import SallyportBase
public import SallyportCore
internal import SallyportSecureStore

// MARK: Removing

extension SecureCache {
    /// Removes all entries; durable when it returns. Answers of running loads are not stored.
    ///
    /// - Throws: `AccessDenied` while the app is not authorized; `StoreError`, after which no load finds the entries,
    ///   but they come back if the process ends before another removal has succeeded.
    public func removeAll() async throws {
        try checkGate()
        guard let storage else { return }
        let ids = take { _ in true }
        try await write(storage.removeAll, of: ids.union(unremoved), in: storage)
    }

    /// Removes the entries of a host, on every port and for every principal; durable when it returns.
    ///
    /// - Returns: how many were removed.
    /// - Throws: `AccessDenied` while the app is not authorized; `StoreError`, as ``removeAll()``.
    @discardableResult
    public func remove(host: Host) async throws -> Int {
        try checkGate()
        let hash = keys.hash(of: host)
        return try await remove { $0.host == hash }
    }

    /// Removes matching entries; answers of running loads are not stored.
    private func remove(where isMeant: @escaping @Sendable (IndexSlot) -> Bool) async throws -> Int {
        guard let storage else { return 0 }
        let ids = take(where: isMeant)
        try await write(storage.remove(Array(ids)), of: ids, in: storage)
        return ids.count
    }

    private var unremoved: Set<EntryID> { state.withLock { $0.unremoved } }

    /// Removes entries from the store. An answer that was on its way into the store is removed once it is written, by a
    /// change that is queued then: this waits for it too.
    ///
    /// - Parameter ids: the entries that have left the store then.
    func write(
        _ removal: @escaping EntryStorage.Change, of ids: Set<EntryID>, in storage: EntryStorage
    ) async throws {
        do {
            try await storage.store.write(removal)
        } catch {
            couldNotRemove(ids)
            throw error
        }
        removed(ids)
        try await storage.store.write { _ in }
    }

    /// Removes the records of entries that have left the index, without waiting.
    func submitRemoval(of ids: [EntryID]) {
        guard let storage, !ids.isEmpty else { return }
        storage.store.submit(storage.remove(ids)) { [weak self] result in
            if case .failure = result { self?.couldNotRemove(ids) } else { self?.removed(ids) }
        }
    }

    func couldNotRemove(_ ids: some Sequence<EntryID>) { state.withLock { $0.unremoved.formUnion(ids) } }

    /// The store takes removals: tries some of those again that it could not do before.
    private func removed(_ ids: some Sequence<EntryID>) {
        state.withLock { $0.unremoved.subtract(ids) }
        submitUnremoved(atMost: 64)
    }

    /// Each by itself, since a record that cannot be removed at all must not keep the others in the store.
    private func submitUnremoved(atMost count: Int) {
        guard let storage else { return }
        for id in unremoved.prefix(count) {
            storage.store.submit(storage.remove([id])) { [weak self] result in
                if case .success = result { self?.state.withLock { _ = $0.unremoved.remove(id) } }
            }
        }
    }

    /// Removes entries from the index; their records must still be removed.
    private func take(where isMeant: (IndexSlot) -> Bool) -> Set<EntryID> {
        state.withLock { state in
            let meant = state.index.all.filter(isMeant)
            for slot in meant {
                state.index.remove(slot)
                state.used[slot.id] = nil
            }
            state.removals.removedAll()
            return Set(meant.map(\.id))
        }
    }

    /// Credentials were cleared: removes the answers that these principals received from these origins, from memory at
    /// once, even while the app is not authorized; durable when it returns.
    package func removeEntries(of cleared: [(principal: Principal, origin: String)]) async throws {
        guard !cleared.isEmpty else { return }
        let pairs = Set(cleared.map { [keys.hash(ofOrigin: $0.origin), keys.hash(of: $0.principal)] })
        _ = try await remove { pairs.contains([$0.origin, $0.principal]) }
    }

    /// The store was wiped: clears the index.
    package func forget() {
        revalidations.cancel()
        state.withLock { state in
            state.index.removeAll()
            (state.used, state.unremoved) = ([:], [])
            state.victims?.removeAll()
            state.isReady = false
        }
    }

    /// Ends background revalidations, and writes what is pending: removals that have failed, and the times of last use.
    package func close() async {
        revalidations.cancel()
        guard let storage else { return }
        submitUnremoved(atMost: .max)
        // Waits for these too.
        try? await storage.store.write(takeUses() ?? { _ in })
    }

    /// Returns once everything that was passed to the store is written or was refused.
    package func settle() async {
        guard let storage else { return }
        _ = try? await storage.store.write { _ in }
        _ = try? await storage.store.write { _ in }
    }

    /// Removes what an unsafe request changed (RFC 9111 §4.4), for every principal.
    func invalidate(_ urls: [UInt64]) {
        let ids = state.withLock { state in
            var ids: [EntryID] = []
            for url in urls {
                state.removals.removed(url)
                for slot in state.index.slots(of: url) where state.index.remove(slot) { ids.append(slot.id) }
            }
            return ids
        }
        submitRemoval(of: ids)
    }

    /// Removes an entry that is damaged or outdated.
    func drop(_ slot: IndexSlot) {
        let wasThere = state.withLock { $0.index.remove(slot) }
        if wasThere { submitRemoval(of: [slot.id]) }
    }
}

// MARK: Uses and eviction

extension SecureCache {
    /// How many uses are collected before they are written together.
    private static let useBatch = 64
    /// A use this soon after the last one is not recorded, in milliseconds.
    private static let useGrain: Int64 = 60_000

    func noteUse(of slot: IndexSlot, at now: CacheTime) {
        guard now.milliseconds - slot.used.milliseconds >= Self.useGrain || now < slot.used else { return }
        let isFull = state.withLock { state in
            state.index.use(slot, at: now)
            state.used[slot.id] = now
            return state.used.count >= Self.useBatch
        }
        guard isFull, let storage, let change = takeUses() else { return }
        storage.store.submit(change)
    }

    private func takeUses() -> EntryStorage.Change? {
        let used = state.withLock { state in
            defer { state.used = [:] }
            return state.used
        }
        return used.isEmpty ? nil : storage?.update(used)
    }

    /// Evicts the least recently used entries if the total size is above the capacity. They are chosen and removed on
    /// the store's writer thread, where no request waits.
    func evictIfNeeded() {
        guard let storage else { return }
        let mustEvict = state.withLock { state in
            guard state.index.size > Int64(state.settings.diskCapacity), state.victims == nil else { return false }
            state.victims = []
            return true
        }
        guard mustEvict else { return }
        storage.store.submit({ [weak self] transaction -> Set<EntryID> in
            guard let victims = self?.takeVictims() else { return [] }
            try storage.remove(Array(victims))(transaction)
            return victims
        }) { [weak self] result in
            let victims = self?.state.withLock { state in
                defer { state.victims = nil }
                return state.victims
            }
            guard case .success(let evicted) = result else {
                self?.couldNotRemove(victims ?? [])
                return
            }
            self?.removed(evicted)
            // Entries that came meanwhile, or a lower capacity, have waited for the end of this eviction.
            self?.evictIfNeeded()
        }
    }

    /// Evicts down to nine tenths, so that not every new entry causes an eviction.
    ///
    /// - Returns: all entries that must leave the store; those of an earlier try too, if the store runs the transaction
    ///   again.
    private func takeVictims() -> Set<EntryID> {
        let victims = victims()
        return state.withLock { state in
            for slot in victims where state.index.remove(slot) {
                state.counts.evictions += 1
                state.victims?.insert(slot.id)
            }
            return state.victims ?? []
        }
    }

    /// Chosen from a copy, without the lock; the copy is released before the index is changed.
    private func victims() -> [IndexSlot] {
        let (index, capacity) = state.withLock { ($0.index, Int64($0.settings.diskCapacity)) }
        return index.victims(toFit: capacity / 10 * 9)
    }
}
