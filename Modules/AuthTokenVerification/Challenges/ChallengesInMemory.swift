internal import SallyportCore

/// A store of challenges for one process: at most 100,000 that are not used, of which the oldest makes room, and as many
/// that are; beyond, tokens are refused until earlier ones are over.
public actor ChallengesInMemory: ChallengeStore {
    /// More than ``limit`` tokens with challenges were used, and none of them is over.
    public struct Full: Error {}

    /// 100,000.
    public static let limit = 100_000

    private var book: ChallengeBook
    private let clock: @Sendable () -> Int64

    public init() { self.init(limit: Self.limit, clock: WallClock.seconds) }

    package init(limit: Int, clock: @escaping @Sendable () -> Int64) {
        book = ChallengeBook(limit: limit)
        self.clock = clock
    }

    public func remember(_ challenge: String, until expiry: Int64) {
        book.remember(challenge, until: expiry, at: clock())
    }

    /// - Throws: ``Full``.
    public func use(_ challenge: String, by token: String, until expiry: Int64) throws -> ChallengeUse {
        guard let use = book.use(challenge, by: token, until: expiry, at: clock()) else { throw Full() }
        return use
    }

    public func forget(_ challenge: String) { book.forget(challenge) }
}
