/// Remembers the challenges that a server gave, and which token used each of them.
///
/// Share one among all servers that give and take the same challenges: what one of them has used up must be used up for
/// all. ``ChallengesInMemory`` is one for a single process.
public protocol ChallengeStore: Sendable {
    /// Remembers a new challenge until `expiry`, in Unix seconds.
    func remember(_ challenge: String, until expiry: Int64) async throws

    /// Uses a challenge up, and remembers until `expiry` by which token. Of two tokens at once, one is the first.
    ///
    /// - Parameter token: 43 characters, of no other token: the SHA-256 of the token, base64url.
    func use(_ challenge: String, by token: String, until expiry: Int64) async throws -> ChallengeUse

    /// Forgets a challenge and its token. One that is not known is no error.
    func forget(_ challenge: String) async throws
}

/// What a challenge was when a token came with it.
public enum ChallengeUse: Sendable, Hashable {
    /// Given, and not used before.
    case first
    /// Used before, by the same token.
    case again
    /// Used before, by another token.
    case taken
    /// Never given, forgotten, or over.
    case unknown
}
