internal import SallyportBase

/// What an open store has besides its data: its key file and protector, the progress of a rotation, and the claim to the
/// directory that closing releases.
///
/// A lock and not an actor, because it is used by the writer's thread and in a `deinit`.
final class Upkeep: Sendable {
    private struct State {
        var keyFile: KeyRingFile
        var protector: any KeyProtector
        /// Whether the key file is being replaced.
        var isReplacingKeys = false
        /// Whether a wipe has begun, which destroys the key file.
        var areKeysRefused = false
        var rotation = Rotation()
        var claim: DirectoryClaim
        /// Whether the last writer closed the store, or a check has found no damage since.
        var isSound = true
    }

    private let state: Lock<State>

    init(_ keyFile: KeyRingFile, _ protector: any KeyProtector, _ writerLock: WriterLock?) {
        state = Lock(State(keyFile: keyFile, protector: protector, claim: DirectoryClaim(writerLock)))
    }

    var keyFile: KeyRingFile { state.withLock { $0.keyFile } }
    var protector: any KeyProtector { state.withLock { $0.protector } }

    func protect(_ keyFile: KeyRingFile, by protector: any KeyProtector) {
        state.withLock { ($0.keyFile, $0.protector) = (keyFile, protector) }
    }

    /// Runs `body`, which replaces the key file. Called on the writer's thread only.
    ///
    /// - Throws: ``StoreError/Code/closed`` once a wipe has begun.
    func replacingKeys(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        let isAllowed = state.withLock { state in
            state.isReplacingKeys = !state.areKeysRefused
            return state.isReplacingKeys
        }
        guard isAllowed else { throw StoreError(.closed, "The store is closed.") }
        defer { state.withLock { $0.isReplacingKeys = false } }
        try body()
    }

    /// Called by a wipe: the key file is not replaced any more.
    ///
    /// - Returns: whether it can be destroyed now. If not, it is just being replaced on the writer's thread.
    func refuseKeys() -> Bool {
        state.withLock { state in
            state.areKeysRefused = true
            return !state.isReplacingKeys
        }
    }

    // MARK: The rotation

    /// Where the walk continues; nil if none is in progress.
    var cursor: [UInt8]? { state.withLock { $0.rotation.cursor } }

    /// Where the walk continues while `key` is the current data key; it starts again if it began under another one.
    func position(for key: UInt32) -> [UInt8]? { state.withLock { $0.rotation.position(for: key) } }

    func beginRotation(for key: UInt32) { state.withLock { $0.rotation.begin(for: key) } }

    func advanceRotation(to next: [UInt8]?, damaged: Int) -> Bool {
        state.withLock { $0.rotation.advance(to: next, damaged: damaged) }
    }

    /// Ends the walk and wakes the waiting tasks.
    func endRotation(_ failure: StoreError?) {
        let (waiters, outcome) = state.withLock { $0.rotation.end(failure) }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    func waitForRotation(_ waiter: Rotation.Waiter) { state.withLock { $0.rotation.wait(waiter) } }

    // MARK: The check after an unclean close

    func beginCheck() { state.withLock { $0.isSound = false } }
    func noteSound() { state.withLock { $0.isSound = true } }

    // MARK: The end

    /// Returns when it is a wipe's turn: not beside another wipe, nor while closing releases the claim. From then on,
    /// closing the store keeps the claim, so that no other opening finds the directory half wiped.
    func beginWipe() async {
        await withCheckedContinuation { (wipe: DirectoryClaim.Waiter) in
            state.withLock { $0.claim.wait(wipe) }?.resume()
        }
    }

    /// Whether the store still claims its directory: not once it is closed.
    var isClaimHeld: Bool { state.withLock { $0.claim.isHeld } }
    var isWiped: Bool { state.withLock { $0.claim.isWiped } }

    func noteWiped() { state.withLock { $0.claim.noteWiped() } }

    /// - Returns: whether the store must be closed now.
    func endWipe() -> Bool {
        let (next, isReleaseDue) = state.withLock { $0.claim.endWipe() }
        next?.resume()
        return isReleaseDue
    }

    /// - Returns: whether the claim is to be released now, by the calls that follow. If a wipe has the turn, its end
    ///   closes again.
    func beginRelease() -> Bool { state.withLock { $0.claim.beginRelease() } }

    /// Releases the lock, so that another process can write. An unclean close that was not looked into to the end stays
    /// on record.
    func releaseLock() {
        let (lock, isSound) = state.withLock { ($0.claim.takeLock(), $0.isSound) }
        if isSound { lock?.markClean() }
    }

    func endRelease() { state.withLock { $0.claim.endRelease() }?.resume() }
}
