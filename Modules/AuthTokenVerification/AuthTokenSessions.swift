internal import SallyportWire

/// The challenge flow of the documents: a request without a token that holds is denied with a new challenge, the app asks
/// for a token with it, and sends the request again with the token.
///
/// ```swift
/// let sessions = AuthTokenSessions(verifier: verifier, use: .session)
/// do {
///     let token = try await sessions.admit(text, for: .init(user: sentUser, server: "reports.corp.example"))
/// } catch {
///     return denial(challenge: try await sessions.makeChallenge())
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

    /// How long a challenge can be used, in seconds, where nothing else is said: 5 minutes.
    public static let challengeLifetime: Int64 = 300

    private let verifier: AuthTokenVerifier
    private let challenges: any ChallengeStore
    private let use: Use
    private let lifetime: Int64

    /// - Parameters:
    ///   - challengeLifetime: how long a challenge can be used, in seconds; at least 1.
    public init(
        verifier: AuthTokenVerifier, challenges: any ChallengeStore = ChallengesInMemory(), use: Use = .once,
        challengeLifetime: Int64 = Self.challengeLifetime
    ) {
        self.verifier = verifier
        self.challenges = challenges
        self.use = use
        lifetime = max(1, challengeLifetime)
    }

    /// A new challenge for the app, remembered: 43 letters and digits of 256 random bits.
    ///
    /// - Throws: `store`.
    public func makeChallenge() async throws(AuthTokenVerificationError) -> String {
        let challenge = Self.random()
        do {
            try await challenges.remember(challenge, until: verifier.clock() + lifetime)
        } catch {
            throw Self.failure(error)
        }
        return challenge
    }

    /// Checks a token, and that it answers a challenge of ``makeChallenge()``, which it uses up.
    ///
    /// A token that does not verify uses nothing up.
    ///
    /// - Throws: ``AuthTokenVerificationError``: `wrongChallenge` for one that was never given, is over, or whose session
    ///   was ended; `replayed` for one that was used before, by another token or, where `use` is `once`, at all.
    public func admit(
        _ token: String, for expected: AuthTokenExpectation, proof: PresentedProof? = nil
    ) async throws(AuthTokenVerificationError) -> VerifiedAuthToken {
        let verified = try await verifier.verify(token, for: expected, proof: proof)
        let outcome: ChallengeUse
        do {
            outcome = try await challenges.use(
                verified.challenge, by: DPoPProof.hash(of: token), until: verifier.end(of: verified))
        } catch {
            throw Self.failure(error)
        }
        switch outcome {
        case .first: return verified
        case .again where use == .session: return verified
        case .again, .taken: throw AuthTokenVerificationError(.replayed, "The challenge was used before.")
        case .unknown: throw AuthTokenVerificationError(.wrongChallenge, "The challenge is none of this server's.")
        }
    }

    /// Ends the session of a token: it is not accepted any more, and the app's next request gets a new challenge.
    ///
    /// - Throws: `store`.
    public func endSession(_ token: VerifiedAuthToken) async throws(AuthTokenVerificationError) {
        do {
            try await challenges.forget(token.challenge)
        } catch {
            throw Self.failure(error)
        }
    }

    private static func random() -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        var generator = SystemRandomNumberGenerator()
        return String(
            decoding: (0..<43).map { _ in alphabet[Int.random(in: 0..<62, using: &generator)] }, as: UTF8.self)
    }

    private static func failure(_ error: any Error) -> AuthTokenVerificationError {
        AuthTokenVerificationError(.store, "The store of challenges failed.", underlying: error)
    }
}
