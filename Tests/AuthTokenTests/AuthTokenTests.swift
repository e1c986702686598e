import Crypto
import HTTPTypes
import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportAuthToken

/// Asking for tokens, over a source that answers what a test says.
@Suite(.timeLimit(.minutes(1))) struct AuthTokenTests {
    @Test func aTokenIsAskedForWithWhatTheAppSays() async throws {
        try await World.with { world in
            let token = try await world.tokens.token(challenge: "Abc1", serverName: "app.example")
            #expect(token.text.reveal() == "T" && token.expires == 7 && !token.isBound)
            #expect(world.source.asked == [.init(challenge: "Abc1", server: "app.example")])
            _ = try await world.tokens.token(challenge: "", serverName: "")
            #expect(world.source.asked.last == .init(challenge: "", server: ""))
            #expect(!"\(token)".contains("\"T\"") && "\(token.text)" == "<redacted>")
        }
    }

    @Test(arguments: [
        ("a b", "", AuthTokenError.Code.invalidChallenge), ("é", "", .invalidChallenge),
        (String(repeating: "a", count: 257), "", .invalidChallenge), ("", "a b", .invalidServerName),
        ("", String(repeating: "a", count: 256), .invalidServerName), ("", "b\u{fc}cher.example", .invalidServerName),
    ])
    func whatNoTokenCarriesIsNotSent(_ challenge: String, _ server: String, _ code: AuthTokenError.Code) async throws {
        try await World.with { world in
            await #expect(throws: AuthTokenError(code, "")) {
                try await world.tokens.token(challenge: challenge, serverName: server)
            }
            #expect(world.source.asked.isEmpty && code.number == nil)
        }
    }

    @Test(arguments: [
        (404, AuthTokenError.Code.notSupported), (405, .notSupported), (501, .notSupported), (403, .withdrawn),
        (401, .retry), (429, .retry), (500, .retry), (302, .retry),
    ])
    func theDocumentedNumbersSayWhetherToTryAgain(_ status: Int, _ code: AuthTokenError.Code) async throws {
        try await World.with { world in
            world.source.state.withLock { $0.status = status }
            await #expect(throws: AuthTokenError(code, "")) {
                try await world.tokens.token(challenge: "", serverName: "")
            }
        }
        #expect(AuthTokenError.Code.retry.number == -1 && AuthTokenError.Code.notSupported.number == -2)
        #expect(AuthTokenError.domain == "GDAuthTokenDomain")
    }

    @Test func aGatewayThatCannotBeReachedIsMinusOne() async throws {
        try await World.with { world in
            for (failure, code) in [
                (LoadError(.cannotConnect, at: .connect, ""), AuthTokenError.Code.retry),
                (LoadError(.connectionLost, ""), .retry), (.cancelled(), .cancelled),
                (LoadError(AccessDenied(.withdrawn, code: .remoteLockout)), .withdrawn),
            ] {
                world.source.state.withLock { $0.failure = failure }
                await #expect(throws: AuthTokenError(code, "")) {
                    try await world.tokens.token(challenge: "", serverName: "")
                }
            }
        }
    }

    @Test(arguments: ["", "{}", #"{"token":1,"expires":2}"#, "\u{0}"])
    func anAnswerThatHoldsNoTokenIsMinusOne(_ body: String) async throws {
        try await World.with { world in
            world.source.state.withLock { $0.body = Array(body.utf8) }
            await #expect(throws: AuthTokenError(.retry, "")) {
                try await world.tokens.token(challenge: "", serverName: "")
            }
        }
    }

    @Test func aTokenOfOneOctetMoreThanOneHasIsNone() async throws {
        try await World.with { world in
            for (length, isTaken) in [
                (AuthTokenClaims.maximumLength, true), (AuthTokenClaims.maximumLength + 1, false),
            ] {
                let text = String(repeating: "A", count: length)
                world.source.state.withLock { $0.body = Array(#"{"token":"\#(text)","expires":7}"#.utf8) }
                let token = try? await world.tokens.token(challenge: "", serverName: "")
                #expect((token != nil) == isTaken)
            }
        }
    }

    @Test(arguments: [
        (AccessDenied(.notAuthorized), AuthTokenError.Code.notAuthorized),
        (AccessDenied(.withdrawn, code: .remoteLockout), .withdrawn),
        (AccessDenied(.withdrawn, code: .wiped), .withdrawn),
    ])
    func nothingIsSentWhileTheGateIsClosed(_ denied: AccessDenied, _ code: AuthTokenError.Code) async throws {
        try await World.with { world in
            let bound = try await world.tokens.token(challenge: "", serverName: "", isBound: true)
            let before = world.source.asked.count
            world.gate.denied.withLock { $0 = denied }
            await #expect(throws: AuthTokenError(code, "")) {
                try await world.tokens.token(challenge: "", serverName: "")
            }
            await #expect(throws: AuthTokenError(code, "")) {
                try await world.tokens.proof(method: "GET", url: "https://a.example/", token: bound)
            }
            #expect(world.source.asked.count == before)
        }
    }

    /// Withdrawn while the gateway answered: the token must not leave.
    @Test func aTokenThatComesAfterAWithdrawalIsNotGiven() async throws {
        try await World.with { world in
            world.source.state.withLock { state in
                state.meanwhile = { [gate = world.gate] in
                    gate.denied.withLock { $0 = AccessDenied(.withdrawn, code: .blocked) }
                }
            }
            await #expect(throws: AuthTokenError(.withdrawn, "")) {
                try await world.tokens.token(challenge: "", serverName: "")
            }
        }
    }

    // MARK: Proofs

    @Test func aBoundTokenAndItsProofsHaveOneKey() async throws {
        try await World.with { world in
            let token = try await world.tokens.token(challenge: "", serverName: "", isBound: true)
            let thumbprint = try #require(world.source.asked.last?.jkt)
            #expect(token.isBound)
            var identifiers: Set<String> = []
            for _ in 0..<3 {
                let text = try await world.tokens.proof(method: "PUT", url: "https://a.example/x?q#f", token: token)
                let proof = try DPoPProof(Array(text.reveal().utf8))
                #expect(proof.keyThumbprint == thumbprint && proof.method == "PUT" && proof.issuedAt == 1000)
                #expect(proof.target == "https://a.example/x" && proof.tokenHash == DPoPProof.hash(of: "T"))
                identifiers.insert(proof.identifier)
            }
            #expect(identifiers.count == 3)
            // The same after a restart, and another for another instance of the same store.
            let again = world.anotherTokens()
            _ = try await again.token(challenge: "", serverName: "", isBound: true)
            #expect(world.source.asked.last?.jkt == thumbprint)
            world.source.state.withLock { $0.instance = "other" }
            _ = try await again.token(challenge: "", serverName: "", isBound: true)
            let other = try #require(world.source.asked.last?.jkt)
            #expect(other != thumbprint && AuthTokenClaims.isThumbprint(other))
        }
    }

    @Test func ofTwoFirstUsesAtOnceBothHaveOneKey() async throws {
        try await World.with { world in
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { _ = try? await world.tokens.token(challenge: "", serverName: "", isBound: true) }
                }
            }
            #expect(world.source.asked.count == 8 && Set(world.source.asked.map(\.jkt)).count == 1)
        }
    }

    @Test func theKeyIsNothingThatTheAppCanOpen() async throws {
        try await World.with { world in
            _ = try await world.tokens.token(challenge: "", serverName: "", isBound: true)
            let open = world.store.collection("authToken.key", of: TokenKey.Record.self)
            #expect(try world.store.read { try $0.all(in: open) }.isEmpty)
        }
    }

    @Test(arguments: [("", "https://a.example/"), ("GET", "a.example"), ("GET", "data:,x"), ("GET", "")])
    func aProofIsForAMethodAndAURL(_ method: String, _ url: String) async throws {
        try await World.with { world in
            let token = try await world.tokens.token(challenge: "", serverName: "", isBound: true)
            await #expect(throws: AuthTokenError(.invalidRequest, "")) {
                try await world.tokens.proof(method: method, url: url, token: token)
            }
            let bearer = try await world.tokens.token(challenge: "", serverName: "")
            await #expect(throws: AuthTokenError(.invalidRequest, "")) {
                try await world.tokens.proof(method: "GET", url: "https://a.example/", token: bearer)
            }
        }
    }
}

/// The form of the documents, with a delegate.
@Suite(.timeLimit(.minutes(1))) struct AuthTokenDelegateTests {
    /// Thrown at once: the delegate hears nothing.
    private static func refuses(_ world: World, _ code: AuthTokenError.Code, challenge: String = "") async {
        await #expect(throws: AuthTokenError(code, "")) {
            try await world.tokens.requestToken(challenge: challenge, serverName: "")
        }
    }

    @Test func withoutADelegateNothingIsSent() async throws {
        try await World.with { world in
            await Self.refuses(world, .noDelegate)
            do {
                let listener = Listener()
                await world.tokens.setDelegate(listener)
                #expect(await world.tokens.delegate === listener)
            }
            // Held weakly.
            await Self.refuses(world, .noDelegate)
            #expect(world.source.asked.isEmpty)
        }
    }

    @Test func theDelegateGetsTheToken() async throws {
        try await World.with { world in
            let listener = Listener()
            await world.tokens.setDelegate(listener)
            try await world.tokens.requestToken(challenge: "c1", serverName: "app.example")
            #expect(await listener.next() == "T")
            #expect(world.source.asked == [.init(challenge: "c1", server: "app.example")])
        }
    }

    @Test func theDelegateHearsOfFailure() async throws {
        try await World.with { world in
            let listener = Listener()
            await world.tokens.setDelegate(listener)
            for (status, told) in [(503, "retry"), (404, "notSupported")] {
                world.source.state.withLock { $0.status = status }
                try await world.tokens.requestToken(challenge: "", serverName: "")
                #expect(await listener.next() == told)
            }
        }
    }

    @Test func whatIsKnownAtOnceIsThrown() async throws {
        try await World.with { world in
            let listener = Listener()
            await world.tokens.setDelegate(listener)
            await Self.refuses(world, .invalidChallenge, challenge: "-")
            world.gate.denied.withLock { $0 = AccessDenied(.notAuthorized) }
            await Self.refuses(world, .notAuthorized)
            #expect(world.source.asked.isEmpty)
        }
    }

    /// The delegate is in the middle of it when all is shut down.
    @Test func theEndWaitsForADelegateThatHears() async throws {
        try await World.with { world in
            let listener = Listener(pause: 50_000)
            await world.tokens.setDelegate(listener)
            try await world.tokens.requestToken(challenge: "", serverName: "")
            #expect(await listener.next() == "T")
            await world.tokens.shutdown()
            #expect(listener.heard == 1)
        }
    }

    @Test func theEndCancelsWhatIsUnderWayAndTakesNoMore() async throws {
        try await World.with { world in
            let listener = Listener()
            await world.tokens.setDelegate(listener)
            world.source.state.withLock { $0.isHeld = true }
            for _ in 0..<AuthTokens.maximumRequests {
                try await world.tokens.requestToken(challenge: "", serverName: "")
            }
            await Self.refuses(world, .retry)
            await world.tokens.shutdown()
            #expect(listener.heard == AuthTokens.maximumRequests)
            for _ in 0..<AuthTokens.maximumRequests { #expect(await listener.next() == "cancelled") }
            await Self.refuses(world, .retry)
        }
    }
}
