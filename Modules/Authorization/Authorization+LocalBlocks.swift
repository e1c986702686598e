internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

extension Authorization {
    /// Blocks the app by its own decision, even across restarts: an event reports it; store and sessions stay usable.
    ///
    /// - Parameters:
    ///   - id: The block's id; a second block with the same id replaces the first. There are at most 64 blocks; a
    ///     further one replaces the oldest.
    ///   - title: For people; cut to 1,024 characters.
    ///   - message: As `title`.
    /// - Throws: ``AuthorizationError/Code/store`` if the store does not take the block. It holds all the same, and
    ///   ``run()`` stores it as soon as it can; a process that is ended before that starts without it.
    public func executeBlock(id: String, title: String, message: String) async throws(AuthorizationError) {
        let block = LocalBlock(
            id: String(id.prefix(256)), title: String(title.prefix(1024)), message: String(message.prefix(1024)))
        decisions.blocks.removeAll { $0.id == block.id }
        decisions.blocks.append(block)
        decisions.blocks = decisions.blocks.suffix(64)
        let result = await storeDecisions()
        send(.notAuthorized, .blocked, block.message)
        try result.get()
    }

    /// Lifts one local block; the administrator's blocks and other local ones stay. An unknown id is not an error.
    ///
    /// - Throws: ``AuthorizationError/Code/store`` if the store does not take it. The block is lifted all the same, and
    ///   ``run()`` stores that as soon as it can; a process that is ended before that starts with the block.
    public func executeUnblock(id: String) async throws(AuthorizationError) {
        let count = decisions.blocks.count
        decisions.blocks.removeAll { $0.id == String(id.prefix(256)) }
        guard decisions.blocks.count < count else { return }
        let result = await storeDecisions()
        if decisions.blocks.isEmpty, state == .authorized { send(.authorized, .none, "The last block was lifted.") }
        try result.get()
    }

    /// Locks like the administrator: the data is kept but inaccessible until the administrator locks and unlocks the
    /// instance. The app must fetch its configuration between the two, as it does at once while ``run()`` runs: a lock
    /// of which it hears nothing lifts nothing. Does nothing after a wipe, which leaves nothing to lock.
    ///
    /// - Throws: ``AuthorizationError/Code/store`` if the store does not take the lock. It holds all the same, and
    ///   ``run()`` stores it as soon as it can; a process that is ended before that starts without it.
    public func executeRemoteLock() async throws(AuthorizationError) {
        guard !isWithdrawnForGood else { return }
        decisions.isLocked = true
        decisions.consoleLockSeen = document?.isLockedByAdministrator == true
        gate.withdraw(.remoteLockout)
        conclude(.locked(.remoteLockout))
        // Stored before observers are awaited, which may take long: a process that is ended meanwhile starts locked.
        let result = await storeDecisions()
        await publishConclusion()
        try result.get()
    }

    /// Known from the gate, which changes before the store is wiped and the state published.
    private var isWithdrawnForGood: Bool {
        do throws(AccessDenied) {
            _ = try gate.policy()
            return false
        } catch {
            return error.code == .wiped || error.code == .appDenied
        }
    }

    /// Stores the decisions, and publishes the blocks among them. What the store does not take now, ``run()`` stores
    /// later: the decisions hold, so an event tells of them before the failure is thrown.
    func storeDecisions() async -> Result<Void, AuthorizationError> {
        let decisions = decisions
        published.withLock { $0.blocks = decisions.blocks }
        do throws(AuthorizationError) {
            try await records.setDecisions(decisions)
        } catch {
            storeLater("the app's own decisions", after: error)
            return .failure(error)
        }
        storedDecisions = decisions
        hasStoringFailed = false
        return .success(())
    }
}
