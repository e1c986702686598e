import SallyportBase
import SallyportWire
import Testing

@testable import SallyportAuthTokenVerification

/// The challenge flow.
@Suite(.timeLimit(.minutes(1))) struct SessionTests {
    /// A server with its issuer.
    struct AppServer {
        let issuer = Issuer()
        let sessions: AuthTokenSessions

        init(_ use: AuthTokenSessions.Use, isOnline: Bool = false) {
            sessions = AuthTokenSessions(
                verifier: isOnline ? issuer.onlineVerifier() : issuer.verifier(),
                challenges: ChallengesInMemory(limit: 100, clock: issuer.clock), use: use)
        }

        func refusal(of text: String) async -> AuthTokenVerificationError.Code? {
            do throws(AuthTokenVerificationError) {
                _ = try await sessions.admit(text, for: .ann())
                return nil
            } catch { return error.code }
        }
    }

    @Test func aChallengeIsNewEachTimeAndFitForAToken() {
        let server = AppServer(.once)
        var challenges: Set<String> = []
        for _ in 0..<20 { challenges.insert(server.sessions.makeChallenge()) }
        #expect(challenges.count == 20)
        for challenge in challenges {
            #expect(challenge.utf8.count == 112)
            #expect(
                challenge.unicodeScalars.allSatisfy {
                    $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil)
                })
        }
    }

    @Test(arguments: [false, true]) func aTokenOpensOnceWhereItIsForOneUse(isOnline: Bool) async throws {
        let server = AppServer(.once, isOnline: isOnline)
        let text = try server.issuer.token(server.sessions.makeChallenge())
        #expect(await server.refusal(of: text) == nil)
        #expect(await server.refusal(of: text) == .replayed)
        // A new challenge and a new token open again.
        #expect(await server.refusal(of: try server.issuer.token(server.sessions.makeChallenge())) == nil)
    }

    @Test func aChallengeServesOneTokenOnly() async throws {
        for use in [AuthTokenSessions.Use.once, .session] {
            let server = AppServer(use)
            let challenge = server.sessions.makeChallenge()
            #expect(await server.refusal(of: try server.issuer.token(challenge)) == nil)
            #expect(await server.refusal(of: try server.issuer.token(challenge)) == .replayed)
        }
    }

    @Test func aTokenIsASessionUntilItEnds() async throws {
        let server = AppServer(.session)
        let text = try server.issuer.token(server.sessions.makeChallenge())
        for _ in 0..<3 { #expect(await server.refusal(of: text) == nil) }
        let token = try await server.sessions.admit(text, for: .ann())
        try await server.sessions.endSession(token)
        #expect(await server.refusal(of: text) == .wrongChallenge)
        try await server.sessions.endSession(token)
        #expect(await server.refusal(of: try server.issuer.token(server.sessions.makeChallenge())) == nil)
    }

    @Test func aSessionEndsWithItsToken() async throws {
        let server = AppServer(.session)
        let text = try server.issuer.token(server.sessions.makeChallenge())
        #expect(await server.refusal(of: text) == nil)
        server.issuer.advance(329)
        #expect(await server.refusal(of: text) == nil)
        server.issuer.advance(1)
        #expect(await server.refusal(of: text) == .expired)
    }

    /// On-line a withdrawal ends a session with the next request.
    @Test func aWithdrawalEndsASessionAtOnceOnLine() async throws {
        let server = AppServer(.session, isOnline: true)
        let text = try server.issuer.token(server.sessions.makeChallenge())
        #expect(await server.refusal(of: text) == nil)
        server.issuer.state.withLock { $0.verdict = .withdrawn }
        #expect(await server.refusal(of: text) == .withdrawn)
    }

    @Test func challengesThatWereNotGivenOrAreOverAreRefused() async throws {
        let server = AppServer(.once)
        #expect(await server.refusal(of: try server.issuer.token("")) == .wrongChallenge)
        #expect(await server.refusal(of: try server.issuer.token("never")) == .wrongChallenge)
        let challenge = server.sessions.makeChallenge()
        server.issuer.advance(AuthTokenSessions.challengeLifetime - 1)
        let (text, late) = (try server.issuer.token(challenge), try server.issuer.token(challenge))
        #expect(await server.refusal(of: text) == nil)
        let other = server.sessions.makeChallenge()
        server.issuer.advance(AuthTokenSessions.challengeLifetime)
        #expect(await server.refusal(of: try server.issuer.token(other)) == .wrongChallenge)
        #expect(await server.refusal(of: late) == .replayed)
    }

    /// A token that does not verify must not cost its owner the challenge.
    @Test func aRefusedTokenUsesNothingUp() async throws {
        let server = AppServer(.once)
        let challenge = server.sessions.makeChallenge()
        #expect(await server.refusal(of: try server.issuer.token(challenge) { $0.user = "bob" }) == .wrongUser)
        #expect(await server.refusal(of: try server.issuer.token(challenge) { $0.server = "b" }) == .wrongServer)
        #expect(await server.refusal(of: String(try server.issuer.token(challenge).dropLast(3))) == .malformed)
        #expect(await server.refusal(of: try server.issuer.token(challenge)) == nil)
    }

    @Test func ofTwoTokensAtOnceOneIsAdmitted() async throws {
        let server = AppServer(.session)
        let challenge = server.sessions.makeChallenge()
        let texts = try (0..<20).map { _ in try server.issuer.token(challenge) }
        let admitted = await withTaskGroup(of: Bool.self) { group in
            for text in texts { group.addTask { await server.refusal(of: text) == nil } }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(admitted == 1)
    }

    @Test func aFailingStoreAdmitsNoToken() async throws {
        let issuer = Issuer()
        let sessions = AuthTokenSessions(verifier: issuer.verifier(), challenges: BrokenStore())
        let text = try issuer.token(sessions.makeChallenge())
        await #expect(throws: AuthTokenVerificationError.of(.store)) { try await sessions.admit(text, for: .ann()) }
    }

    // MARK: Challenges that are not stored

    /// Any client may ask for challenges: one that asks for many must not displace those of others.
    @Test func aFloodOfChallengesDisplacesNoOther() async throws {
        let server = AppServer(.once)
        let challenge = server.sessions.makeChallenge()
        for _ in 0..<1_000 { _ = server.sessions.makeChallenge() }
        #expect(await server.refusal(of: try server.issuer.token(challenge)) == nil)
    }

    /// Another spelling would allow a second use, and a changed time a longer one.
    @Test func aChallengeThatWasChangedIsRefused() async throws {
        let server = AppServer(.once)
        let challenge = server.sessions.makeChallenge()
        var changed = [
            challenge.uppercased(), String(challenge.dropLast(2)), challenge + "00",
        ]
        // A challenge never contains this character: the token itself is malformed.
        #expect(await server.refusal(of: try server.issuer.token("+" + String(challenge.dropFirst()))) == .malformed)
        for position in [0, 15, 16, 47, 48, 111] {
            var digits = Array(challenge)
            digits[position] = digits[position] == "0" ? "1" : "0"
            changed.append(String(digits))
        }
        for text in changed where text != challenge {
            #expect(await server.refusal(of: try server.issuer.token(text)) == .wrongChallenge, "\(text)")
        }
        #expect(await server.refusal(of: try server.issuer.token(challenge)) == nil)
    }

    @Test func serversWithOneKeyTakeEachOthersChallengesOnce() async throws {
        let issuer = Issuer()
        let secret = [UInt8](repeating: 7, count: ChallengeKey.minimumLength)
        let store = ChallengesInMemory(limit: 10, clock: issuer.clock)
        let servers = try (0..<2).map { _ in
            AuthTokenSessions(
                verifier: issuer.verifier(), key: try #require(ChallengeKey(secret: secret)), challenges: store)
        }
        let text = try issuer.token(servers[0].makeChallenge())
        _ = try await servers[1].admit(text, for: .ann())
        await #expect(throws: AuthTokenVerificationError.of(.replayed)) {
            try await servers[0].admit(text, for: .ann())
        }
        let foreign = AuthTokenSessions(verifier: issuer.verifier(), challenges: store)
        let other = try issuer.token(foreign.makeChallenge())
        await #expect(throws: AuthTokenVerificationError.of(.wrongChallenge)) {
            try await servers[0].admit(other, for: .ann())
        }
        #expect(ChallengeKey(secret: [UInt8](repeating: 7, count: ChallengeKey.minimumLength - 1)) == nil)
    }

    /// The challenge outlives its first token: another token for it must not count as the first.
    @Test func aUseIsRememberedForAsLongAsTheChallengeHolds() async throws {
        let issuer = Issuer()
        let sessions = AuthTokenSessions(
            verifier: issuer.verifier(), challenges: ChallengesInMemory(limit: 1, clock: issuer.clock),
            challengeLifetime: 1_000)
        let challenge = sessions.makeChallenge()
        _ = try await sessions.admit(try issuer.token(challenge), for: .ann())
        issuer.advance(999)
        let late = try issuer.token(challenge)
        await #expect(throws: AuthTokenVerificationError.of(.replayed)) { try await sessions.admit(late, for: .ann()) }
        issuer.advance(1)
        await #expect(throws: AuthTokenVerificationError.of(.wrongChallenge)) {
            try await sessions.admit(late, for: .ann())
        }
    }

    /// The store forgets a use at the end of the challenge, which may come between the check and the answer.
    @Test func aChallengeThatEndsWhileTheStoreIsAskedIsRefused() async throws {
        let (issuer, key) = (Issuer(), ChallengeKey())
        let store = ChallengesInMemory(limit: 10, clock: issuer.clock)
        let slow = SlowStore(store: store) { issuer.advance(1) }
        func sessions(_ store: any ChallengeStore) -> AuthTokenSessions {
            AuthTokenSessions(
                verifier: issuer.verifier(), key: key, challenges: store, challengeLifetime: 1_000)
        }
        let challenge = sessions(store).makeChallenge()
        _ = try await sessions(store).admit(try issuer.token(challenge), for: .ann())
        issuer.advance(999)
        let late = try issuer.token(challenge)
        await #expect(throws: AuthTokenVerificationError.of(.replayed)) {
            try await sessions(store).admit(late, for: .ann())
        }
        await #expect(throws: AuthTokenVerificationError.of(.wrongChallenge)) {
            try await sessions(slow).admit(late, for: .ann())
        }
    }

    // MARK: The store

    /// A used challenge is never displaced: a further one is refused instead.
    @Test func aStoreThatIsFullRefusesMore() async throws {
        let store = ChallengesInMemory(limit: 3) { 10 }
        for challenge in ["a", "b", "c"] {
            #expect(try await store.use(challenge, by: "t", until: 30, isOver: false) == .first)
        }
        await #expect(throws: ChallengesInMemory.Full.self) {
            try await store.use("d", by: "t", until: 30, isOver: false)
        }
        await #expect(throws: ChallengesInMemory.Full.self) { try await store.end("d", until: 30) }
        #expect(try await store.use("b", by: "other", until: 30, isOver: false) == .taken)
        #expect(try await store.use("b", by: "t", until: 30, isOver: true) == .again)
        try await store.end("b", until: 30)
        #expect(try await store.use("b", by: "t", until: 30, isOver: false) == .unknown)
    }

    @Test func usesThatAreOverMakeRoom() async throws {
        let issuer = Issuer()
        let store = ChallengesInMemory(limit: 2, clock: issuer.clock)
        for round in 0..<5 {
            for name in ["a", "b"] {
                let use = try await store.use("\(name)\(round)", by: "t", until: issuer.clock() + 10, isOver: false)
                #expect(use == .first)
            }
            issuer.advance(10)
        }
        #expect(try await store.use("a0", by: "t", until: Issuer.start + 1_000, isOver: true) == .unknown)
    }

    /// Many sessions, each ended before the next, take up room only until their tokens expire.
    @Test func expiredChallengesAreRemoved() {
        var book = ChallengeBook(limit: 10_000)
        var most = 0
        for number in 0..<5_000 {
            let now = Int64(number)
            #expect(book.use("c\(number)", by: "t", until: now + 10, isOver: false, at: now) == .first)
            #expect(book.end("c\(number)", until: now + 10, at: now) == true)
            most = max(most, book.places)
        }
        #expect(most <= 1024)
        #expect(book.use("c4999", by: "t", until: 5_009, isOver: false, at: 4_999) == .unknown)
    }
}

private struct BrokenStore: ChallengeStore {
    struct Broken: Error {}
    func use(
        _ challenge: String, by token: String, until expiry: Int64, isOver: Bool
    ) async throws -> ChallengeUse { throw Broken() }
    func end(_ challenge: String, until expiry: Int64) async throws { throw Broken() }
}

/// Something happens before it is asked.
private struct SlowStore: ChallengeStore {
    let store: ChallengesInMemory
    let before: @Sendable () -> Void

    func use(
        _ challenge: String, by token: String, until expiry: Int64, isOver: Bool
    ) async throws -> ChallengeUse {
        before()
        return try await store.use(challenge, by: token, until: expiry, isOver: isOver)
    }

    func end(_ challenge: String, until expiry: Int64) async throws { try await store.end(challenge, until: expiry) }
}
