internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import Synchronization

extension CookieJar {
    /// Loads the stored cookies into memory if they are not there. Expired cookies, and those of a domain that has
    /// become a public suffix, are removed.
    ///
    /// - Throws: ``CookieError/Code-swift.struct/store``; the gate's refusal.
    package func load() async throws(CookieError) {
        try checkGate()
        guard count.load(ordering: .acquiring) < 0 else { return }
        guard state.withLock({ !$0.isShutDown }) else { throw CookieError(.store, "The jar is shut down.") }
        // What was pending when a lock cleared the memory. If the disk is full, the jar works without.
        await flushOrWarn()
        let generation = state.withLock { $0.generation }
        let (records, lost) = try current()
        if lost > 0 { logger.warning("Stored cookies are damaged.", metadata: ["cookies": "\(lost)"]) }
        let now = clock()
        let unwanted = Self.unwanted(of: records, at: now)
        change { state in
            guard !state.isLoaded, !state.isShutDown, state.generation == generation else { return [] }
            state.isLoaded = true
            var effects = state.table.restore(records, without: unwanted, lost: lost, at: now)
            state.table.remove(sentTo: state.cleared, &effects)
            state.cleared = [:]
            return effects
        }
        // A lock has cleared the memory meanwhile: what was read before it must not appear after it.
        if state.withLock({ $0.generation != generation }) { try await load() }
    }

    /// The stored cookies with the changes that could not be written.
    private func current() throws(CookieError) -> (records: [CookieRecord], lost: Int) {
        let (records, lost) = try stored()
        let pending = state.withLock { $0.pending }
        guard !pending.isEmpty else { return (records, lost) }
        let changed = pending.compactMap { number, pending -> CookieRecord? in
            guard case .put(let bytes) = pending.change else { return nil }
            return CookieRecord(bytes, number: number)
        }
        return (records.filter { pending[$0.entry.number] == nil } + changed, lost)
    }

    private func stored() throws(CookieError) -> (records: [CookieRecord], lost: Int) {
        do {
            return try storage.load()
        } catch {
            throw CookieError(.store, "The cookies cannot be read.", underlying: error)
        }
    }

    /// The numbers of the cookies that are removed instead of loaded.
    private static func unwanted(of records: [CookieRecord], at now: Int64) -> Set<UInt64> {
        var known: [Host: Bool] = [:]
        return Set(
            records.filter { $0.entry.isExpired(at: now) || isPublic($0.entry, &known) }.map(\.entry.number))
    }

    private static func isPublic(_ entry: CookieEntry, _ known: inout [Host: Bool]) -> Bool {
        guard !entry.isHostOnly, case .name(let name) = entry.host else { return false }
        if let isPublic = known[entry.host] { return isPublic }
        let isPublic = PublicSuffixList.system.isPublic(name)
        known[entry.host] = isPublic
        return isPublic
    }

    /// Clears the memory: session cookies are lost, persistent ones are read again later.
    ///
    /// - Parameter isWiped: whether the store was destroyed, so that nothing is written any more.
    package nonisolated func forget(isWiped: Bool) {
        let limits = state.withLock { $0.table.limits }
        change { state in
            state.table.overwrite()
            state.table = CookieTable()
            state.table.limits = limits
            state.isLoaded = false
            state.generation += 1
            if isWiped { state.pending = [:] }
            return []
        }
    }

    nonisolated func checkGate() throws(CookieError) {
        do throws(AccessDenied) {
            try gate?.checkAuthorized()
        } catch {
            throw CookieError(error)
        }
    }
}
