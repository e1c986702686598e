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
        try await TokenApp.with { app in
            let token = try await app.tokens.token(challenge: "Abc1", serverName: "app.example")
            #expect(token.text.reveal() == "T" && token.expires == 7 && !token.isBound)
            #expect(app.source.asked == [.init(challenge: "Abc1", server: "app.example")])
            _ = try await app.tokens.token(challenge: "", serverName: "")
            #expect(app.source.asked.last == .init(challenge: "", server: ""))
            #expect(!"\(token)".contains("\"T\"") && "\(token.text)" == "<redacted>")
        }
    }

    @Test(arguments: [
        ("a b", "", AuthTokenError.Code.invalidChallenge), ("é", "", .invalidChallenge),
        (String(repeating: "a", count: 257), "", .invalidChallenge), ("", "a b", .invalidServerName),
        ("", String(repeating: "a", count: 256), .invalidServerName), ("", "b\u{fc}cher.example", .invalidServerName),
    ])
    func invalidClaimsAreNotSent(_ challenge: String, _ server: String, _ code: AuthTokenError.Code) async throws {
        try await TokenApp.with { app in
            await #expect(throws: AuthTokenError(code, "")) {
                try await app.tokens.token(challenge: challenge, serverName: server)
            }
            #expect(app.source.asked.isEmpty && code.number == nil)
        }
    }

    @Test(arguments: [
        (404, AuthTokenError.Code.notSupported), (405, .notSupported), (501, .notSupported), (403, .withdrawn),
        (401, .retry), (429, .retry), (500, .retry), (302, .retry),
    ])
    func theNumbersSayWhetherToTryAgain(_ status: Int, _ code: AuthTokenError.Code) async throws {
        try await TokenApp.with { app in
            app.source.state.withLock { $0.status = status }
            await #expect(throws: AuthTokenError(code, "")) {
                try await app.tokens.token(challenge: "", serverName: "")
            }
        }
        #expect(AuthTokenError.Code.retry.number == -1 && AuthTokenError.Code.notSupported.number == -2)
        #expect(AuthTokenError.domain == "GDAuthTokenDomain")
    }

    @Test func aGatewayThatCannotBeReachedIsMinusOne() async throws {
        try await TokenApp.with { app in
            for (failure, code) in [
                (LoadError(.cannotConnect, at: .connect, ""), AuthTokenError.Code.retry),
                (LoadError(.connectionLost, ""), .retry), (.cancelled(), .cancelled),
                (LoadError(AccessDenied(.withdrawn, code: .remoteLockout)), .withdrawn),
            ] {
                app.source.state.withLock { $0.failure = failure }
                await #expect(throws: AuthTokenError(code, "")) {
                    try await app.tokens.token(challenge: "", serverName: "")
                }
            }
        }
    }

    @Test(arguments: ["", "{}", #"{"token":1,"expires":2}"#, "\u{0}"])
    func anAnswerThatHoldsNoTokenIsMinusOne(_ body: String) async throws {
        try await TokenApp.with { app in
            app.source.state.withLock { $0.body = Array(body.utf8) }
            await #expect(throws: AuthTokenError(.retry, "")) {
                try await app.tokens.token(challenge: "", serverName: "")
            }
        }
    }

    @Test func aTokenOfOneByteTooManyIsRefused() async throws {
        try await TokenApp.with { app in
            for (length, isTaken) in [
                (AuthTokenClaims.maximumLength, true), (AuthTokenClaims.maximumLength + 1, false),
            ] {
                let text = String(repeating: "A", count: length)
                app.source.state.withLock { $0.body = Array(#"{"token":"\#(text)","expires":7}"#.utf8) }
                let token = try? await app.tokens.token(challenge: "", serverName: "")
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
        try await TokenApp.with { app in
            let bound = try await app.tokens.token(challenge: "", serverName: "", isBound: true)
            let before = app.source.asked.count
            app.gate.close(denied)
            await #expect(throws: AuthTokenError(code, "")) {
                try await app.tokens.token(challenge: "", serverName: "")
            }
            await #expect(throws: AuthTokenError(code, "")) {
                try await app.tokens.proof(method: "GET", url: "https://a.example/", token: bound)
            }
            #expect(app.source.asked.count == before)
        }
    }

    /// Withdrawn while the gateway answered: the token must not leave.
    @Test func aTokenThatComesAfterAWithdrawalIsNotGiven() async throws {
        try await TokenApp.with { app in
            app.source.state.withLock { state in
                state.meanwhile = { [gate = app.gate] in
                    gate.close(AccessDenied(.withdrawn, code: .blocked))
                }
            }
            await #expect(throws: AuthTokenError(.withdrawn, "")) {
                try await app.tokens.token(challenge: "", serverName: "")
            }
        }
    }

    // MARK: Proofs

    /// Authorization is withdrawn while the key is read.
    @Test func aProofThatIsMadeAfterAWithdrawalIsNotGiven() async throws {
        try await TokenApp.with { app in
            let token = try await app.tokens.token(challenge: "", serverName: "", isBound: true)
            app.source.state.withLock { state in
                state.beforeKey = { [gate = app.gate] in
                    gate.close(AccessDenied(.withdrawn, code: .blocked))
                }
            }
            await #expect(throws: AuthTokenError(.withdrawn, "")) {
                try await app.tokens.proof(method: "GET", url: "https://a.example/", token: token)
            }
        }
    }

    @Test func aBoundTokenAndItsProofsHaveOneKey() async throws {
        try await TokenApp.with { app in
            let token = try await app.tokens.token(challenge: "", serverName: "", isBound: true)
            let thumbprint = try #require(app.source.asked.last?.jkt)
            #expect(token.isBound)
            var identifiers: Set<String> = []
            for _ in 0..<3 {
                let text = try await app.tokens.proof(method: "PUT", url: "https://a.example/x?q#f", token: token)
                let proof = try DPoPProof(Array(text.reveal().utf8))
                #expect(proof.keyThumbprint == thumbprint && proof.method == "PUT" && proof.issuedAt == 1000)
                #expect(proof.target == "https://a.example/x" && proof.tokenHash == DPoPProof.hash(of: "T"))
                identifiers.insert(proof.identifier)
            }
            #expect(identifiers.count == 3)
            // The same after a restart, and another for another instance of the same store.
            let again = app.anotherTokens()
            _ = try await again.token(challenge: "", serverName: "", isBound: true)
            #expect(app.source.asked.last?.jkt == thumbprint)
            app.source.state.withLock { $0.instance = "other" }
            _ = try await again.token(challenge: "", serverName: "", isBound: true)
            let other = try #require(app.source.asked.last?.jkt)
            #expect(other != thumbprint && AuthTokenClaims.isThumbprint(other))
        }
    }

    @Test func ofTwoFirstUsesAtOnceBothHaveOneKey() async throws {
        try await TokenApp.with { app in
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { _ = try? await app.tokens.token(challenge: "", serverName: "", isBound: true) }
                }
            }
            #expect(app.source.asked.count == 8 && Set(app.source.asked.map(\.jkt)).count == 1)
        }
    }

    @Test func theKeyIsNothingThatTheAppCanOpen() async throws {
        try await TokenApp.with { app in
            _ = try await app.tokens.token(challenge: "", serverName: "", isBound: true)
            let open = app.secureStore.collection("authToken.key", of: TokenKey.Record.self)
            #expect(try app.secureStore.read { try $0.all(in: open) }.isEmpty)
        }
    }

    @Test(arguments: [("", "https://a.example/"), ("GET", "a.example"), ("GET", "data:,x"), ("GET", "")])
    func aProofIsForAMethodAndAURL(_ method: String, _ url: String) async throws {
        try await TokenApp.with { app in
            let token = try await app.tokens.token(challenge: "", serverName: "", isBound: true)
            await #expect(throws: AuthTokenError(.invalidRequest, "")) {
                try await app.tokens.proof(method: method, url: url, token: token)
            }
            let bearer = try await app.tokens.token(challenge: "", serverName: "")
            await #expect(throws: AuthTokenError(.invalidRequest, "")) {
                try await app.tokens.proof(method: "GET", url: "https://a.example/", token: bearer)
            }
        }
    }
}

/// The API with a delegate.
@Suite(.timeLimit(.minutes(1))) struct AuthTokenDelegateTests {
    /// Thrown at once: the delegate hears nothing.
    private static func refuses(_ app: TokenApp, _ code: AuthTokenError.Code, challenge: String = "") async {
        await #expect(throws: AuthTokenError(code, "")) {
            try await app.tokens.requestToken(challenge: challenge, serverName: "")
        }
    }

    @Test func withoutADelegateNothingIsSent() async throws {
        try await TokenApp.with { app in
            await Self.refuses(app, .noDelegate)
            do {
                let listener = Listener()
                await app.tokens.setDelegate(listener)
                #expect(await app.tokens.delegate === listener)
            }
            // Held weakly.
            await Self.refuses(app, .noDelegate)
            #expect(app.source.asked.isEmpty)
        }
    }

    @Test func theDelegateGetsTheToken() async throws {
        try await TokenApp.with { app in
            let listener = Listener()
            await app.tokens.setDelegate(listener)
            try await app.tokens.requestToken(challenge: "c1", serverName: "app.example")
            #expect(await listener.next() == "T")
            #expect(app.source.asked == [.init(challenge: "c1", server: "app.example")])
        }
    }

    @Test func theDelegateHearsOfFailure() async throws {
        try await TokenApp.with { app in
            let listener = Listener()
            await app.tokens.setDelegate(listener)
            for (status, told) in [(503, "retry"), (404, "notSupported")] {
                app.source.state.withLock { $0.status = status }
                try await app.tokens.requestToken(challenge: "", serverName: "")
                #expect(await listener.next() == told)
            }
        }
    }

    @Test func errorsThatAreKnownAtOnceAreThrown() async throws {
        try await TokenApp.with { app in
            let listener = Listener()
            await app.tokens.setDelegate(listener)
            await Self.refuses(app, .invalidChallenge, challenge: "-")
            app.gate.close(AccessDenied(.notAuthorized))
            await Self.refuses(app, .notAuthorized)
            #expect(app.source.asked.isEmpty)
        }
    }

    /// The delegate is in the middle of it when all is shut down.
    @Test func theEndWaitsForADelegateThatHears() async throws {
        try await TokenApp.with { app in
            let listener = Listener(pause: 50_000)
            await app.tokens.setDelegate(listener)
            try await app.tokens.requestToken(challenge: "", serverName: "")
            #expect(await listener.next() == "T")
            await app.tokens.shutdown()
            #expect(listener.heard == 1)
        }
    }

    @Test func theEndCancelsWhatIsUnderWayAndTakesNoMore() async throws {
        try await TokenApp.with { app in
            let listener = Listener()
            await app.tokens.setDelegate(listener)
            app.source.state.withLock { $0.isHeld = true }
            for _ in 0..<AuthTokens.maximumRequests {
                try await app.tokens.requestToken(challenge: "", serverName: "")
            }
            await Self.refuses(app, .retry)
            await app.tokens.shutdown()
            #expect(listener.heard == AuthTokens.maximumRequests)
            for _ in 0..<AuthTokens.maximumRequests { #expect(await listener.next() == "cancelled") }
            await Self.refuses(app, .retry)
        }
    }
}
