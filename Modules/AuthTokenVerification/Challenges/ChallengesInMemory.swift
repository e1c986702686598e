internal import SallyportCore

/// A store of used challenges for one process. It holds at most 100,000; when it is full, tokens are refused until
/// earlier entries expire.
///
/// Only a verified token takes up an entry, so a client without tokens cannot fill the store.
///
/// If the clock is set back, a use that was forgotten while it was ahead is not taken for new: tokens and challenges are
/// refused that end no later than the last such one. A restart of the process ends that.
public actor ChallengesInMemory: ChallengeStore {
    /// More than ``limit`` tokens with challenges were used, and none of them is over.
    public struct Full: Error {}

    /// 100,000.
    public static let limit = 100_000

    private var book: ChallengeBook
    private let clock: @Sendable () -> Int64

    /// Empty. What it remembers is lost with the process, and is not known to other processes.
    public init() { self.init(limit: Self.limit, clock: WallClock.seconds) }

    package init(limit: Int, clock: @escaping @Sendable () -> Int64) {
        book = ChallengeBook(limit: limit)
        self.clock = clock
    }

    /// - Throws: ``Full``.
    public func use(
        _ challenge: String, by token: String, until expiry: Int64, isOver: Bool
    ) throws -> ChallengeUse {
        guard let use = book.use(challenge, by: token, until: expiry, isOver: isOver, at: clock()) else {
            throw Full()
        }
        return use
    }

    /// - Throws: ``Full``, but not for a challenge that a token has used.
    public func end(_ challenge: String, until expiry: Int64) throws {
        guard book.end(challenge, until: expiry, at: clock()) else { throw Full() }
    }
}
