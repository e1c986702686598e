/// Remembers which token used a challenge, for as long as either could be used again. Challenges that nothing has used
/// are not its matter: ``ChallengeKey`` knows them again.
///
/// Share one among all servers that have the same ``ChallengeKey``: what one of them has used up must be used up for
/// all. ``ChallengesInMemory`` is one for a single process.
public protocol ChallengeStore: Sendable {
    /// Uses a challenge up, and remembers until `expiry`, in Unix seconds, by which token. Of two tokens at once, one is
    /// the first.
    ///
    /// - Parameters:
    ///   - token: 43 characters, of no other token: the SHA-256 of the token, base64url.
    ///   - isOver: the challenge's time is over, so that no token can be the first any more: where none was, nothing is
    ///     remembered and the answer is ``ChallengeUse/unknown``.
    func use(
        _ challenge: String, by token: String, until expiry: Int64, isOver: Bool
    ) async throws -> ChallengeUse

    /// Ends a challenge: until `expiry` no token can use it, also not the one that did; the answer to ``use`` is
    /// ``ChallengeUse/unknown``. One that is not known is no error.
    func end(_ challenge: String, until expiry: Int64) async throws
}

/// What a challenge was when a token came with it.
public enum ChallengeUse: Sendable, Hashable {
    /// Not used before.
    case first
    /// Used before, by the same token.
    case again
    /// Used before, by another token.
    case taken
    /// Ended, or over before a token used it.
    case unknown
}
