internal import SallyportWire

/// The challenge flow: a request without a valid token is refused with a new challenge; the app requests a token with
/// this challenge and sends the request again with the token.
///
/// ```swift
/// let sessions = AuthTokenSessions(verifier: verifier, use: .session)
/// do {
///     let token = try await sessions.admit(text, for: .init(user: sentUser, server: "reports.corp.example"))
/// } catch {
///     return denial(challenge: sessions.makeChallenge())
/// }
/// ```
public struct AuthTokenSessions: Sendable {
    /// How often a token is accepted.
    public enum Use: Sendable, Hashable {
        /// Once: each access needs a new challenge and a new token.
        case once
        /// Until it expires, or ``AuthTokenSessions/endSession(_:)``: the token and its challenge are the session.
        case session
    }

    /// The default lifetime of a challenge, in seconds: 5 minutes.
    public static let challengeLifetime: Int64 = 300

    private let verifier: AuthTokenVerifier
    private let key: ChallengeKey
    private let challenges: any ChallengeStore
    private let use: Use
    private let lifetime: Int64

    /// - Parameters:
    ///   - verifier: checks each token, before its challenge is used up.
    ///   - key: makes the challenges. Servers that accept each other's challenges share the key and the store.
    ///   - challenges: remembers which token has used a challenge.
    ///   - use: how often a token is accepted.
    ///   - challengeLifetime: how long a challenge can be used, in seconds; 1 second to a day.
    public init(
        verifier: AuthTokenVerifier, key: ChallengeKey = ChallengeKey(),
        challenges: any ChallengeStore = ChallengesInMemory(), use: Use = .once,
        challengeLifetime: Int64 = Self.challengeLifetime
    ) {
        self.verifier = verifier
        self.key = key
        self.challenges = challenges
        self.use = use
        lifetime = min(max(1, challengeLifetime), 86_400)
    }

    /// A new challenge for the app: 112 hexadecimal digits. The server stores nothing for it, so an app that requests
    /// many challenges cannot displace those of other apps.
    public func makeChallenge() -> String { key.make(until: verifier.clock() + lifetime) }

    /// Checks a token and that it answers a challenge from ``makeChallenge()``, and marks the challenge as used.
    ///
    /// A token that fails verification does not use up its challenge.
    ///
    /// - Throws: ``AuthTokenVerificationError``: `wrongChallenge` if the challenge was never issued, has expired, or
    ///   belongs to a session that was ended; `replayed` if another token has used the challenge or, where `use` is
    ///   `once`, if it was used at all.
    public func admit(
        _ token: String, for expected: AuthTokenExpectation, proof: PresentedProof? = nil
    ) async throws(AuthTokenVerificationError) -> VerifiedAuthToken {
        let verified = try await verifier.verify(token, for: expected, proof: proof)
        guard let end = key.end(of: verified.challenge) else { throw Self.wrongChallenge }
        let outcome: ChallengeUse
        do {
            outcome = try await challenges.use(
                verified.challenge, by: DPoPProof.hash(of: token), until: remembered(verified, end),
                isOver: end <= verifier.clock())
        } catch {
            throw Self.failure(error)
        }
        switch outcome {
        case .first where end > verifier.clock(): return verified
        case .again where use == .session: return verified
        case .again, .taken: throw AuthTokenVerificationError(.replayed, "The challenge was used before.")
        // A challenge that has expired since the store was asked may have been used before, and forgotten.
        case .first, .unknown: throw Self.wrongChallenge
        }
    }

    /// The time after which neither the token that used a challenge nor another token for it can be accepted.
    private func remembered(_ token: VerifiedAuthToken, _ end: Int64) -> Int64 { max(verifier.end(of: token), end) }

    private static var wrongChallenge: AuthTokenVerificationError {
        AuthTokenVerificationError(.wrongChallenge, "The challenge was not issued by this server.")
    }

    /// Ends the session of a token: it is not accepted any more, and the app's next request gets a new challenge.
    ///
    /// - Throws: `store`.
    public func endSession(_ token: VerifiedAuthToken) async throws(AuthTokenVerificationError) {
        guard let end = key.end(of: token.challenge) else { return }
        do {
            try await challenges.end(token.challenge, until: remembered(token, end))
        } catch {
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: any Error) -> AuthTokenVerificationError {
        AuthTokenVerificationError(.store, "The store of challenges failed.", underlying: error)
    }
}
