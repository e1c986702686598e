internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

extension Authorization {
    /// Blocks the app by its own decision, even across restarts: an event reports it; store and sessions stay usable.
    ///
    ///   - id: The block's id; a second block with the same id replaces the first. There are at most 64 blocks; a
    ///     further one replaces the oldest.
    ///   - title: For people; `title` and `message` are cut to 1,024 characters.
    public func executeBlock(id: String, title: String, message: String) async throws(AuthorizationError) {
        let block = LocalBlock(
            id: String(id.prefix(256)), title: String(title.prefix(1024)), message: String(message.prefix(1024)))
        decisions.blocks.removeAll { $0.id == block.id }
        decisions.blocks.append(block)
        decisions.blocks = decisions.blocks.suffix(64)
        try await storeDecisions()
        send(.notAuthorized, .blocked, block.message)
    }

    /// Lifts one local block; the administrator's blocks and other local ones stay. An unknown id is not an error.
    public func executeUnblock(id: String) async throws(AuthorizationError) {
        let count = decisions.blocks.count
        decisions.blocks.removeAll { $0.id == String(id.prefix(256)) }
        guard decisions.blocks.count < count else { return }
        try await storeDecisions()
        if decisions.blocks.isEmpty, state == .authorized { send(.authorized, .none, "The last block was lifted.") }
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
        var failure: AuthorizationError?
        do throws(AuthorizationError) {
            try await storeDecisions()
        } catch {
            failure = error
        }
        await publishConclusion()
        if let failure { throw failure }
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
    /// later.
    func storeDecisions() async throws(AuthorizationError) {
        let decisions = decisions
        published.withLock { $0.blocks = decisions.blocks }
        do throws(AuthorizationError) {
            try await records.setDecisions(decisions)
        } catch {
            storeLater("the app's own decisions", after: error)
            throw error
        }
        storedDecisions = decisions
        hasStoringFailed = false
    }
}
