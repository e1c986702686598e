extension SecureStore {
    /// Wraps the store's keys with another protector, without changing the data. The old protector no longer opens the
    /// store.
    ///
    /// The keys that encrypt records stay the same: anyone with the old protector's secret and a copy of the directory
    /// can still read that copy. If that matters, call ``rotateDataKey()`` afterwards. An old key file is not removed.
    ///
    /// - Throws: an error after which the old protector stays; or, if the directory cannot be synced, one whose message
    ///   says that either secret may open the store after a loss of power. Until then the new one does.
    public func changeProtector(to protector: some KeyProtector) async throws(StoreError) {
        try await onWriter { [self] () throws(StoreError) in
            var isInPlace = false
            do throws(StoreError) {
                try upkeep.replacingKeys { () throws(StoreError) in
                    _ = try KeyRingFile.create(for: ring, in: path, protectedBy: protector) { file in
                        upkeep.protect(file, by: protector)
                        isInPlace = true
                    }
                }
            } catch {
                throw isInPlace ? Self.notDurable(error) : error
            }
        }
    }

    private static func notDurable(_ error: StoreError) -> StoreError {
        StoreError(
            error.code,
            "The new protector is in force, but after a loss of power either secret may open the store: keep both. "
                + error.message, underlying: error)
    }

    /// Creates a new data key, which encrypts every record from now on.
    ///
    /// Old records are re-encrypted in the background, in small transactions while no writer waits, unless
    /// ``StoreOptions/rotatesInBackground`` is false; then the old key is forgotten. After a crash, this continues when
    /// the store is opened again.
    ///
    /// - Throws: ``StoreError/Code/full`` if eleven rotations are in progress already.
    public func rotateDataKey() async throws(StoreError) {
        try await onWriter { [self] () throws(StoreError) in
            let key = ring.makeDataKey()
            try upkeep.replacingKeys { () throws(StoreError) in
                try upkeep.keyFile.write(ring, dataKeys: ring.dataKeys + [key])
            }
            ring.add(key)
            if rotatesInBackground { startRotation() }
        }
    }

    /// Waits until every record is encrypted with the current data key, and the old ones are forgotten.
    ///
    /// - Throws: ``StoreError/Code/damaged`` if records fail verification: their old keys are kept.
    public func finishRotation() async throws(StoreError) {
        guard writer != nil else { throw StoreError(.readOnly, "The store was opened read-only.") }
        let failure = await withCheckedContinuation { (continuation: CheckedContinuation<StoreError?, Never>) in
            let isQueued = enqueueOnWriter { [self] in
                guard ring.dataKeys.count > 1 else { return continuation.resume(returning: nil) }
                upkeep.waitForRotation(continuation)
                if upkeep.cursor == nil { startRotation() }
            } orElse: {
                continuation.resume(returning: $0)
            }
            if !isQueued { continuation.resume(returning: StoreError(.closed, "The store is closed.")) }
        }
        if let failure { throw failure }
    }
}

// MARK: On the writer's thread

extension SecureStore {
    /// Runs `body` on the writer's thread, between transactions.
    private func onWriter(_ body: @escaping @Sendable () throws(StoreError) -> Void) async throws(StoreError) {
        guard writer != nil else { throw StoreError(.readOnly, "The store was opened read-only.") }
        let failure = await withCheckedContinuation { (continuation: CheckedContinuation<StoreError?, Never>) in
            let isQueued = enqueueOnWriter {
                do throws(StoreError) {
                    try body()
                    continuation.resume(returning: nil)
                } catch { continuation.resume(returning: error) }
            } orElse: {
                continuation.resume(returning: $0)
            }
            if !isQueued { continuation.resume(returning: StoreError(.closed, "The store is closed.")) }
        }
        if let failure { throw failure }
    }

    /// - Returns: false if the writer has stopped, which calls neither closure; otherwise exactly one is called.
    private func enqueueOnWriter(
        _ body: @escaping @Sendable () -> Void, orElse fail: @escaping @Sendable (StoreError) -> Void
    ) -> Bool {
        writer?.enqueue(Writer.Part.betweenTransactions(body, orElse: fail)) ?? false
    }

    func startRotation() {
        upkeep.beginRotation(for: ring.currentID)
        writer?.startBackgroundWork()
    }
}

/// The background work of a store: the next batch of a rotation.
struct RotationWork: Sendable {
    let ring: KeyRing
    let upkeep: Upkeep

    /// The key that is current here is current until the part has finished: keys change only between parts.
    func nextPart() -> Writer.Part? {
        guard let cursor = upkeep.position(for: ring.currentID) else { return nil }
        return Writer.Part.transaction(ring: ring) {
            try $0.reencrypt(from: cursor)
        } finish: { result in
            do {
                let batch = try result.get()
                committed(batch.next, batch.damaged)
            } catch {
                upkeep.endRotation(
                    error as? StoreError
                        ?? StoreError(.internalFailure, "Records could not be encrypted anew.", underlying: error))
            }
        }
    }

    private func committed(_ next: [UInt8]?, _ damaged: Int) {
        let isDone = upkeep.advanceRotation(to: next, damaged: damaged)
        guard next == nil else { return }
        do throws(StoreError) {
            if isDone {
                try upkeep.replacingKeys { () throws(StoreError) in
                    try upkeep.keyFile.write(ring, dataKeys: [ring.current])
                }
                ring.retireOldKeys()
            }
            upkeep.endRotation(nil)
        } catch {
            upkeep.endRotation(error)
        }
    }
}
