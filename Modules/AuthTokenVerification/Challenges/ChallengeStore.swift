/// Remembers which token used a challenge, for as long as either could be used again. Unused challenges are not stored:
/// ``ChallengeKey`` recognises them.
///
/// Share one store among all servers that have the same ``ChallengeKey``: a challenge used at one of them counts as
/// used at all. ``ChallengesInMemory`` is one for a single process.
public protocol ChallengeStore: Sendable {
    /// Uses a challenge up, and remembers until `expiry` which token used it. Of two tokens at the same time, only one
    /// is the first.
    ///
    /// - Parameters:
    ///   - challenge: the challenge, which ``ChallengeKey`` has recognised.
    ///   - token: the SHA-256 of the token in base64url, 43 characters.
    ///   - expiry: in Unix seconds; after it no token for the challenge could be accepted anyway.
    ///   - isOver: whether the challenge has expired, so that no token can be the first any more. If none has used it
    ///     before, nothing is remembered and the result is ``ChallengeUse/unknown``.
    func use(
        _ challenge: String, by token: String, until expiry: Int64, isOver: Bool
    ) async throws -> ChallengeUse

    /// Ends a challenge: until `expiry` no token can use it, not even the one that did; `use` then returns
    /// ``ChallengeUse/unknown``. An unknown challenge is not an error.
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
    /// Ended, or expired before a token used it.
    case unknown
}
