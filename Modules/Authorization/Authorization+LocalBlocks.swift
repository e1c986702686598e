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
    /// instance.
    public func executeRemoteLock() async throws(AuthorizationError) {
        decisions.isLocked = true
        decisions.consoleLockSeen = document?.status == .locked && document?.code == .remoteLockout
        gate.withdraw(.remoteLockout)
        await conclude(.locked(.remoteLockout))
        try await storeDecisions()
    }

    private func storeDecisions() async throws(AuthorizationError) {
        let blocks = decisions.blocks
        published.withLock { $0.blocks = blocks }
        try await records.setDecisions(decisions)
    }
}
