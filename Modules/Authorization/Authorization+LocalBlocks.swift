internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

extension Authorization {
    /// Blocks the app as its own decision, also across restarts: an event tells it, store and sessions stay usable.
    ///
    /// - Parameters:
    ///   - id: Which block; a second one of the same id replaces the first. At most 64 blocks stand at a time; the
    ///     oldest makes room.
    ///   - title: For people; `title` and `message` are cut at 1,024 characters.
    public func executeBlock(id: String, title: String, message: String) async throws(AuthorizationError) {
        let block = LocalBlock(
            id: String(id.prefix(256)), title: String(title.prefix(1024)), message: String(message.prefix(1024)))
        decisions.blocks.removeAll { $0.id == block.id }
        decisions.blocks.append(block)
        decisions.blocks = decisions.blocks.suffix(64)
        try await storeDecisions()
        send(.notAuthorized, .blocked, block.message)
    }

    /// Lifts one local block; the console's blocks and other local ones stay. An unknown id is no error.
    public func executeUnblock(id: String) async throws(AuthorizationError) {
        let count = decisions.blocks.count
        decisions.blocks.removeAll { $0.id == String(id.prefix(256)) }
        guard decisions.blocks.count < count else { return }
        try await storeDecisions()
        if decisions.blocks.isEmpty, state == .authorized { send(.authorized, .none, "The last block was lifted.") }
    }

    /// Locks as if the console had: data is kept and out of reach until the console locks and unlocks the instance.
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
