internal import Logging
internal import SallyportBase
internal import Synchronization

extension CookieJar {
    /// Changes the table, and reports the change to the store and to observers. A use by a request mostly changes
    /// nothing, and then costs nothing more.
    nonisolated func change(_ body: (inout State) -> [CookieTable.Effect]) {
        let (effects, number, isDue) = state.withLock { state -> ([CookieTable.Effect], UInt64, Bool) in
            let wasLoaded = state.isLoaded
            let (effects, number) = (body(&state), state.changes)
            guard !effects.isEmpty || state.isLoaded != wasLoaded else { return (effects, number, false) }
            for effect in effects {
                state.note(effect)
                if effect.isChange { state.changes += 1 }
            }
            count.store(state.isLoaded ? state.table.count : -1, ordering: .releasing)
            let isDue = !state.pending.isEmpty && !state.isWriteDue
            if isDue { state.isWriteDue = true }
            return (effects, number, isDue)
        }
        if !effects.isEmpty { hub.tell(effects, after: number) }
        // An unstructured task: a request that sets a cookie does not wait for the disk. See Docs/Concurrency.md.
        if isDue { Task { await self.writeSoon() } }
    }

    /// At most one of a jar is under way. What changes during a write waits for it: while the disk is slow, each change
    /// would otherwise add a write, and a copy of all that is pending.
    private func writeSoon() async {
        var begun: UInt64
        repeat {
            try? await Task.sleep(for: delay)
            begun = state.withLock { $0.lastVersion }
            await flushOrWarn()
        } while mustWriteAgain(since: begun)
    }

    /// Whether there are changes of a later version that are pending, which also a write that failed has not tried. If
    /// there are none, the next change starts another task.
    private func mustWriteAgain(since version: UInt64) -> Bool {
        state.withLock { state in
            state.isWriteDue = !state.pending.isEmpty && state.lastVersion > version
            return state.isWriteDue
        }
    }

    /// As ``flush()``, where nothing can be done about a failure: the changes stay pending.
    func flushOrWarn() async {
        do throws(CookieError) {
            try await flush()
        } catch {
            logger.warning("Cookies cannot be stored.", metadata: ["error": "\(error)"])
        }
    }

    /// Writes the pending changes; durable on return.
    ///
    /// - Throws: ``CookieError/Code-swift.struct/store``; the changes stay pending then.
    package func flush() async throws(CookieError) {
        let pending = state.withLock { $0.pending }
        guard !pending.isEmpty else { return }
        do {
            try await storage.write(pending.mapValues(\.change))
        } catch {
            throw CookieError(.store, "The cookies cannot be written.", underlying: error)
        }
        state.withLock { state in
            for (number, written) in pending where state.pending[number]?.version == written.version {
                state.pending[number] = nil
            }
        }
    }

    /// Writes everything that the store does not have yet, including times of use, and clears the memory. Idempotent;
    /// the `shutdown()` of an instance does it for its jars.
    public func shutdown() async {
        change { state in
            guard !state.isShutDown else { return [] }
            state.isShutDown = true
            return state.table.takeUnwrittenUses()
        }
        await flushOrWarn()
        hub.finish()
        forget(isWiped: false)
    }
}
