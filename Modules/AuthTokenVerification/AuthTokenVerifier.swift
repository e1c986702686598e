internal import SallyportBase
internal import SallyportWire

/// Checks auth tokens in an app server: off-line with the gateway's published keys, or on-line through its service.
///
/// ```swift
/// let verifier = AuthTokenVerifier(keys: PublishedKeys(from: source), issuer: "https://gateway.corp.example:17433")
/// let token = try await verifier.verify(text, for: .init(user: sentUser, server: "reports.corp.example"))
/// ```
///
/// An off-line check costs one P-256 verification and notices a withdrawal when the token expires, within five minutes;
/// an on-line check costs a request and notices it at once. Neither limits how often a token is used: see
/// ``AuthTokenSessions``. A token that comes without a proof is a bearer token, which anyone who reads it can use until
/// it expires: accept it over TLS only, and keep it out of logs.
public struct AuthTokenVerifier: Sendable {
    private enum Way: Sendable {
        case keys(PublishedKeys, issuers: Set<String>)
        case service(any AuthTokenService)
    }

    private let way: Way
    private let leeway: Int64
    private let requireProof: Bool
    private let proofs: any ProofMemory
    let clock: @Sendable () -> Int64

    /// A verifier that works off-line.
    ///
    /// - Parameters:
    ///   - keys: the gateway's published keys, which verify its tokens.
    ///   - issuer: the gateway's `https://NAME:PORT`, as its tokens name it.
    ///   - leeway: seconds by which this machine's clock and the gateway's may differ; 0 to a day.
    ///   - requireProof: whether a token must be bound to a key, and come with a proof of it (RFC 9449). A proof that
    ///     comes with a bound token is checked in any case.
    ///   - proofs: remembers the proofs that were used, so that none is accepted twice.
    public init(
        keys: PublishedKeys, issuer: String, leeway: Int64 = 30, requireProof: Bool = false,
        proofs: any ProofMemory = ProofsInMemory()
    ) {
        self.init(keys: keys, issuers: [issuer], leeway: leeway, requireProof: requireProof, proofs: proofs)
    }

    /// A verifier that works off-line, for the tokens of a fleet of gateways. Each of them publishes the keys of all.
    ///
    /// - Parameters:
    ///   - keys: the fleet's published keys, fetched from any of its gateways.
    ///   - issuers: each gateway's `https://NAME:PORT`, as its tokens name it.
    ///   - leeway: as for one gateway.
    ///   - requireProof: as for one gateway.
    ///   - proofs: as for one gateway.
    public init(
        keys: PublishedKeys, issuers: Set<String>, leeway: Int64 = 30, requireProof: Bool = false,
        proofs: any ProofMemory = ProofsInMemory()
    ) {
        self.init(.keys(keys, issuers: issuers), leeway, requireProof, proofs, keys.clock)
    }

    /// A verifier that asks the gateway for each token.
    public init(
        service: any AuthTokenService, leeway: Int64 = 30, requireProof: Bool = false,
        proofs: any ProofMemory = ProofsInMemory()
    ) {
        self.init(
            service: service, leeway: leeway, requireProof: requireProof, proofs: proofs, clock: WallClock.seconds)
    }

    package init(
        service: any AuthTokenService, leeway: Int64 = 30, requireProof: Bool = false,
        proofs: any ProofMemory = ProofsInMemory(), clock: @escaping @Sendable () -> Int64
    ) {
        self.init(.service(service), leeway, requireProof, proofs, clock)
    }

    private init(
        _ way: Way, _ leeway: Int64, _ requireProof: Bool, _ proofs: any ProofMemory,
        _ clock: @escaping @Sendable () -> Int64
    ) {
        self.way = way
        self.leeway = min(max(0, leeway), 86_400)
        self.requireProof = requireProof
        self.proofs = proofs
        self.clock = clock
    }

    /// Checks a token, at most 8 KiB.
    ///
    /// - Parameters:
    ///   - token: the text of the token, as the request carried it.
    ///   - expected: what the token must contain: the user that the app sent, and this server's name.
    ///   - proof: the proof that the request carried; required if `requireProof` is set.
    /// - Throws: ``AuthTokenVerificationError``, whose code is the result. Cancelling the task ends the check with
    ///   `cancelled`.
    public func verify(
        _ token: String, for expected: AuthTokenExpectation, proof: PresentedProof? = nil
    ) async throws(AuthTokenVerificationError) -> VerifiedAuthToken {
        let claims = try await claims(of: token)
        try Self.compare(claims, with: expected)
        let isProven = try await checkProof(proof, of: claims, token: token)
        return VerifiedAuthToken(claims, isProven: isProven)
    }

    private func claims(of token: String) async throws(AuthTokenVerificationError) -> AuthTokenClaims {
        let signed: SignedAuthToken
        do throws(WireError) {
            signed = try SignedAuthToken(Array(token.utf8))
        } catch {
            throw AuthTokenVerificationError(.malformed, "The text is no token.", underlying: error)
        }
        switch way {
        case .keys(let keys, let issuers): return try await offline(signed, keys, issuers)
        case .service(let service): return try await online(signed, token, service)
        }
    }

    /// The latest time at which a token can be accepted.
    func end(of token: VerifiedAuthToken) -> Int64 { token.expires + leeway }
}

// MARK: Off-line and on-line

extension AuthTokenVerifier {
    private func offline(
        _ signed: SignedAuthToken, _ keys: PublishedKeys, _ issuers: Set<String>
    ) async throws(AuthTokenVerificationError) -> AuthTokenClaims {
        let key = try await keys.key(named: signed.keyID)
        let claims: AuthTokenClaims
        do throws(WireError) {
            claims = try signed.claims(signedWith: key)
        } catch {
            throw AuthTokenVerificationError(.malformed, "The token does not verify.", underlying: error)
        }
        guard issuers.contains(claims.issuer) else {
            throw AuthTokenVerificationError(.malformed, "The token is another issuer's.")
        }
        let now = clock()
        guard now < claims.expires + leeway else {
            throw AuthTokenVerificationError(.expired, "The token has expired.")
        }
        guard claims.begins <= now + leeway else {
            throw AuthTokenVerificationError(.notYetValid, "The token is of the future.")
        }
        return claims
    }

    private func online(
        _ signed: SignedAuthToken, _ token: String, _ service: any AuthTokenService
    ) async throws(AuthTokenVerificationError) -> AuthTokenClaims {
        let answer: ServiceAnswer
        do {
            answer = try ServiceAnswer(await service.verify(ServiceAnswer.request(for: token)))
        } catch {
            if Task.isCancelled {
                throw AuthTokenVerificationError(.cancelled, "The task was cancelled.", underlying: CancellationError())
            }
            throw error as? AuthTokenVerificationError
                ?? AuthTokenVerificationError(.unavailable, "The service cannot be reached.", underlying: error)
        }
        switch answer.verdict {
        case .valid: break
        case .malformed: throw AuthTokenVerificationError(.malformed, "The service does not know the token.")
        case .expired: throw AuthTokenVerificationError(.expired, "The token has expired.")
        case .notYetValid: throw AuthTokenVerificationError(.notYetValid, "The token is of the future.")
        case .withdrawn: throw AuthTokenVerificationError(.withdrawn, "The instance is withdrawn.")
        case .userRemoved: throw AuthTokenVerificationError(.userRemoved, "The user is gone.")
        }
        guard let claims = try? signed.claimsVouchedFor(), answer.speaks(of: claims) else {
            throw AuthTokenVerificationError(.unavailable, "The service speaks of another token.")
        }
        return claims
    }
}

// MARK: What the app said

extension AuthTokenVerifier {
    private static func compare(
        _ claims: AuthTokenClaims, with expected: AuthTokenExpectation
    ) throws(AuthTokenVerificationError) {
        guard ConstantTime.areEqual(claims.user, expected.user) else {
            throw AuthTokenVerificationError(.wrongUser, "The token is another user's.")
        }
        guard ConstantTime.areEqual(claims.server, expected.server) else {
            throw AuthTokenVerificationError(.wrongServer, "The token is for another server.")
        }
        guard let challenge = expected.challenge else { return }
        guard ConstantTime.areEqual(claims.challenge, challenge) else {
            throw AuthTokenVerificationError(.wrongChallenge, "The token has another challenge.")
        }
    }

    /// - Returns: whether there was a proof.
    private func checkProof(
        _ proof: PresentedProof?, of claims: AuthTokenClaims, token: String
    ) async throws(AuthTokenVerificationError) -> Bool {
        guard let thumbprint = claims.keyThumbprint, let proof, let text = proof.text else {
            guard !requireProof else {
                throw AuthTokenVerificationError(.noProof, "The token is not bound to a key, or comes without proof.")
            }
            return false
        }
        let checked = try ProofRules(leeway: leeway).check(
            text, of: proof, with: token, boundTo: thumbprint, at: clock())
        let isNew: Bool
        do {
            isNew = try await proofs.remember(checked.name, until: checked.until)
        } catch {
            throw AuthTokenVerificationError(.store, "The memory of proofs failed.", underlying: error)
        }
        guard isNew else { throw AuthTokenVerificationError(.replayed, "The proof was used before.") }
        // To a memory that was asked at the end of the proof's time, one that was used before is new again.
        guard clock() < checked.until else { throw ProofRules.tooOld }
        return true
    }
}
