internal import Logging

/// Writes into a relay's own store what the relay needs of the feed after a restart.
///
/// An actor, since a write may take long, and the feed does not wait for it. What the store did not take is written as
/// soon as it does: the state in memory has it already, and no later update of the feed tells it again.
actor FeedKeeper {
    struct Content: Sendable, Hashable {
        /// The highest revision that was in force.
        var revision: Int64
        /// As in ``RelayMembership``.
        var trust: [[UInt8]]
        /// As in ``RelayMembership``.
        var controls: [String]
    }

    private let write: @Sendable (Content) async throws -> Void
    private let logger: Logger
    /// What the store has.
    private var kept: Content
    private var hasFailed = false

    /// - Parameter kept: what the store has.
    init(_ kept: Content, logger: Logger, write: @escaping @Sendable (Content) async throws -> Void) {
        (self.kept, self.logger, self.write) = (kept, logger, write)
    }

    /// Returns once the content is written, or could not be. To be called by one task, so that no older content is
    /// written last.
    func keep(_ new: Content) async {
        guard new != kept else { return }
        do { try await write(new) } catch { return failed(error) }
        kept = new
        if hasFailed { logger.notice("The relay's store is written again.") }
        hasFailed = false
    }

    /// The log has it once, however long it lasts.
    private func failed(_ error: any Error) {
        if !hasFailed {
            logger.error("The relay's store cannot be written.", metadata: ["error": "\(error)"])
        }
        hasFailed = true
    }
}
