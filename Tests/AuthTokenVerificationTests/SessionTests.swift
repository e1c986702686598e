import SallyportCore
import SallyportWire
import Testing

@testable import SallyportAuthTokenVerification

/// The challenge flow of the documents.
@Suite(.timeLimit(.minutes(1))) struct SessionTests {
    /// A server with its issuer.
    struct World {
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

    @Test func aChallengeIsNewEachTimeAndFitForAToken() async throws {
        let world = World(.once)
        var challenges: Set<String> = []
        for _ in 0..<20 { challenges.insert(try await world.sessions.makeChallenge()) }
        #expect(challenges.count == 20)
        for challenge in challenges {
            #expect(challenge.utf8.count == 43)
            #expect(
                challenge.unicodeScalars.allSatisfy {
                    $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil)
                })
        }
    }

    @Test(arguments: [false, true]) func aTokenOpensOnceWhereItIsForOneUse(isOnline: Bool) async throws {
        let world = World(.once, isOnline: isOnline)
        let text = try world.issuer.token(try await world.sessions.makeChallenge())
        #expect(await world.refusal(of: text) == nil)
        #expect(await world.refusal(of: text) == .replayed)
        // A new challenge and a new token open again.
        #expect(await world.refusal(of: try world.issuer.token(try await world.sessions.makeChallenge())) == nil)
    }

    @Test func aChallengeServesOneTokenOnly() async throws {
        for use in [AuthTokenSessions.Use.once, .session] {
            let world = World(use)
            let challenge = try await world.sessions.makeChallenge()
            #expect(await world.refusal(of: try world.issuer.token(challenge)) == nil)
            #expect(await world.refusal(of: try world.issuer.token(challenge)) == .replayed)
        }
    }

    @Test func aTokenIsASessionUntilItEnds() async throws {
        let world = World(.session)
        let text = try world.issuer.token(try await world.sessions.makeChallenge())
        for _ in 0..<3 { #expect(await world.refusal(of: text) == nil) }
        let token = try await world.sessions.admit(text, for: .ann())
        try await world.sessions.endSession(token)
        #expect(await world.refusal(of: text) == .wrongChallenge)
        try await world.sessions.endSession(token)
        #expect(await world.refusal(of: try world.issuer.token(try await world.sessions.makeChallenge())) == nil)
    }

    @Test func aSessionEndsWithItsToken() async throws {
        let world = World(.session)
        let text = try world.issuer.token(try await world.sessions.makeChallenge())
        #expect(await world.refusal(of: text) == nil)
        world.issuer.advance(329)
        #expect(await world.refusal(of: text) == nil)
        world.issuer.advance(1)
        #expect(await world.refusal(of: text) == .expired)
    }

    /// On-line a withdrawal ends a session with the next request.
    @Test func aWithdrawalEndsASessionAtOnceOnLine() async throws {
        let world = World(.session, isOnline: true)
        let text = try world.issuer.token(try await world.sessions.makeChallenge())
        #expect(await world.refusal(of: text) == nil)
        world.issuer.state.withLock { $0.verdict = .withdrawn }
        #expect(await world.refusal(of: text) == .withdrawn)
    }

    @Test func challengesThatWereNotGivenOrAreOverAreRefused() async throws {
        let world = World(.once)
        #expect(await world.refusal(of: try world.issuer.token("")) == .wrongChallenge)
        #expect(await world.refusal(of: try world.issuer.token("never")) == .wrongChallenge)
        let challenge = try await world.sessions.makeChallenge()
        world.issuer.advance(AuthTokenSessions.challengeLifetime - 1)
        let (text, late) = (try world.issuer.token(challenge), try world.issuer.token(challenge))
        #expect(await world.refusal(of: text) == nil)
        let other = try await world.sessions.makeChallenge()
        world.issuer.advance(AuthTokenSessions.challengeLifetime)
        #expect(await world.refusal(of: try world.issuer.token(other)) == .wrongChallenge)
        #expect(await world.refusal(of: late) == .replayed)
    }

    /// A token that does not verify must not cost its owner the challenge.
    @Test func aRefusedTokenUsesNothingUp() async throws {
        let world = World(.once)
        let challenge = try await world.sessions.makeChallenge()
        #expect(await world.refusal(of: try world.issuer.token(challenge) { $0.user = "bob" }) == .wrongUser)
        #expect(await world.refusal(of: try world.issuer.token(challenge) { $0.server = "b" }) == .wrongServer)
        #expect(await world.refusal(of: String(try world.issuer.token(challenge).dropLast(3))) == .malformed)
        #expect(await world.refusal(of: try world.issuer.token(challenge)) == nil)
    }

    @Test func ofTwoTokensAtOnceOneIsAdmitted() async throws {
        let world = World(.session)
        let challenge = try await world.sessions.makeChallenge()
        let texts = try (0..<20).map { _ in try world.issuer.token(challenge) }
        let admitted = await withTaskGroup(of: Bool.self) { group in
            for text in texts { group.addTask { await world.refusal(of: text) == nil } }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(admitted == 1)
    }

    @Test func aStoreThatFailsAdmitsNobody() async throws {
        let issuer = Issuer()
        let sessions = AuthTokenSessions(verifier: issuer.verifier(), challenges: BrokenStore())
        await #expect(throws: AuthTokenVerificationError.of(.store)) { try await sessions.makeChallenge() }
        let text = try issuer.token()
        await #expect(throws: AuthTokenVerificationError.of(.store)) { try await sessions.admit(text, for: .ann()) }
    }

    // MARK: The store

    @Test func theOldestChallengeMakesRoom() async throws {
        let store = ChallengesInMemory(limit: 3) { 10 }
        for challenge in ["a", "b", "c", "d"] { await store.remember(challenge, until: 20) }
        #expect(try await store.use("a", by: "t", until: 30) == .unknown)
        for challenge in ["b", "c", "d"] { #expect(try await store.use(challenge, by: "t", until: 30) == .first) }
        // Those that are used are never pushed out: one more is refused instead.
        for number in 0..<10 { await store.remember("n\(number)", until: 20) }
        await #expect(throws: ChallengesInMemory.Full.self) { try await store.use("n9", by: "t", until: 30) }
        #expect(try await store.use("b", by: "other", until: 30) == .taken)
        #expect(try await store.use("b", by: "t", until: 30) == .again)
    }

    @Test func usesThatAreOverMakeRoom() async throws {
        let issuer = Issuer()
        let store = ChallengesInMemory(limit: 2, clock: issuer.clock)
        for round in 0..<5 {
            for name in ["a", "b"] {
                await store.remember("\(name)\(round)", until: Issuer.start + 1_000)
                #expect(try await store.use("\(name)\(round)", by: "t", until: issuer.clock() + 10) == .first)
            }
            issuer.advance(10)
        }
        #expect(try await store.use("a0", by: "t", until: Issuer.start + 1_000) == .unknown)
    }

    /// Whoever uses and ends many sessions while one challenge stays unused takes no more room than that.
    @Test func whatIsForgottenTakesNoRoomForLong() {
        var book = ChallengeBook(limit: 10_000)
        book.remember("first", until: 1_000, at: 0)
        var most = 0
        for number in 0..<5_000 {
            book.remember("c\(number)", until: 1_000, at: 0)
            #expect(book.use("c\(number)", by: "t", until: 1_000, at: 0) == .first)
            book.forget("c\(number)")
            most = max(most, book.places)
        }
        #expect(most <= 1025)
        #expect(book.use("first", by: "t", until: 1_000, at: 0) == .first)
        #expect(book.use("c1", by: "t", until: 1_000, at: 0) == .unknown)
    }

    @Test func aChallengeThatWasUsedIsNotGivenAgain() async throws {
        let store = ChallengesInMemory(limit: 3) { 10 }
        await store.remember("a", until: 20)
        #expect(try await store.use("a", by: "t", until: 30) == .first)
        await store.remember("a", until: 20)
        #expect(try await store.use("a", by: "u", until: 30) == .taken)
    }
}

private struct BrokenStore: ChallengeStore {
    struct Broken: Error {}
    func remember(_ challenge: String, until expiry: Int64) async throws { throw Broken() }
    func use(_ challenge: String, by token: String, until expiry: Int64) async throws -> ChallengeUse { throw Broken() }
    func forget(_ challenge: String) async throws { throw Broken() }
}
