import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportHTTPAuthentication

/// A server that requires Basic, and the delegate of an app. No I/O.
@Suite(.timeLimit(.minutes(1)))
struct AuthenticationStageTests {
    private let storage = CredentialStorage()
    private let server = StubServer()
    private static let good = Credential(user: "ann", password: Redacted("secret"))
    private static let wrong = Credential(user: "ann", password: Redacted("wrong"))
    private static let space = ProtectionSpace(origin: "https://a.example:443", realm: "r", method: .basic)

    private func load(
        _ url: String = "https://a.example/docs/a", principal: Principal = .instance,
        setting change: (inout LoadRequest) -> Void = { _ in }, timeout: Duration = .seconds(60),
        asking responder: (any ChallengeResponder)? = nil, gate: (any AccessGate)? = nil,
        through between: [any LoadStage] = []
    ) async throws -> Int {
        var request = try LoadRequest.get(url)
        change(&request)
        let context = LoadContext(
            requestID: 1, logger: Logger(label: "test"), deadline: .now + timeout, idleTimeout: .seconds(60),
            principal: principal, responder: responder)
        let stages: [any LoadStage] = [AuthenticationStage(credentials: storage, gate: gate)] + between + [server]
        let chain = LoadChain(stages)
        return try await chain.load(request, in: context).head.status.code
    }

    // MARK: What the administrator forbids

    @Test func aForbiddenSchemeIsPassedOverAndItsCredentialIsSentNoMore() async throws {
        let (app, gate) = (StubResponder([.use(Self.good)]), SchemeGate(["basic"]))
        #expect(try await load(asking: app, gate: gate) == 200)
        gate.allow(["digest", "ntlm", "negotiate"])
        #expect(try await load(setting: { $0.options.credential = Self.good }, asking: app, gate: gate) == 401)
        #expect(server.users == [nil, "ann", nil], "Nothing is sent unasked either.")
        #expect(app.challenges.count == 1, "Nobody is asked for what may not be said.")
        gate.allow(["basic"])
        #expect(try await load(gate: gate) == 200)
    }

    // MARK: Sources of credentials

    @Test func withoutADelegateTheServersAnswerIsTheResult() async throws {
        #expect(try await load() == 401)
        #expect(server.seen == [nil])
    }

    @Test func theAppAnswersAndWhatWasAcceptedIsSentUnasked() async throws {
        let app = StubResponder([.use(Self.good)])
        #expect(try await load(asking: app) == 200)
        #expect(try await load("https://a.example/docs/deeper/b", asking: app) == 200)
        #expect(try await load("https://a.example/other", asking: app) == 200)
        #expect(server.users == [nil, "ann", "ann", nil, "ann"], "what lies higher is asked for again")
        #expect(app.challenges.map(\.previousFailureCount) == [0, 0])
        let challenge = try #require(app.challenges.first)
        #expect(challenge.protectionSpace == Self.space && challenge.failureResponse?.status == .unauthorized)
        #expect(challenge.proposedCredential == nil && app.challenges.last?.proposedCredential == Self.good)
    }

    @Test func pathsBelowAKnownOneTakeNoRoomOfOthers() async throws {
        let app = StubResponder([.use(Self.good)])
        #expect(try await load(asking: app) == 200)
        for number in 0..<CredentialBook.limit {
            #expect(try await load("https://a.example/docs/\(number)/a") == 200)
        }
        #expect(try await load("https://a.example/other/a", asking: app) == 200)
        #expect(try await load("https://a.example/other/b", asking: app) == 200)
        #expect(server.users.suffix(3) == [nil, "ann", "ann"])
    }

    @Test func anotherOriginIsAskedAnew() async throws {
        let app = StubResponder([.use(Self.good)])
        #expect(try await load(asking: app) == 200)
        for url in ["https://b.example/docs/a", "https://a.example:444/docs/a", "http://a.example/docs/a"] {
            #expect(try await load(url) == 401)
        }
        #expect(server.users.suffix(3) == [nil, nil, nil])
    }

    @Test func defaultHandlingUsesWhatTheRequestAndTheAppHaveSet() async throws {
        #expect(try await load(setting: { $0.options.credential = Self.good }) == 200)
        await storage.clear()
        await storage.setDefault(Self.good, for: Self.space)
        #expect(try await load() == 200)
        #expect(try await load(asking: StubResponder([.performDefaultHandling])) == 200)
        await storage.clear()
        #expect(try await load() == 401)
    }

    @Test func aCredentialForOneLoadIsNotKept() async throws {
        let once = Credential(user: "ann", password: Redacted("secret"), persistence: .none)
        #expect(try await load(asking: StubResponder([.use(once)])) == 200)
        #expect(try await load() == 401)
    }

    /// Clears the credentials when the server's answer is on its way.
    private struct ClearingStage: LoadStage {
        let storage: CredentialStorage

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            let response = try await next.load(request, in: context)
            await storage.clear()
            return response
        }
    }

    @Test func whatWasClearedDuringALoadDoesNotComeBackWithItsAnswer() async throws {
        #expect(try await load(setting: { $0.options.credential = Self.good }) == 200)
        #expect(try await load(through: [ClearingStage(storage: storage)]) == 200)
        #expect(storage.knowsNobody)
        #expect(await storage.credential(for: Self.space, of: .instance) == nil)
        #expect(try await load() == 401)
        #expect(server.users == [nil, "ann", "ann", nil], "the load after the removal is sent without a user")
    }

    // MARK: Failures

    @Test func aRefusedAnswerIsAskedAboutAgain() async throws {
        let app = StubResponder([.use(Self.wrong), .use(Self.good)])
        #expect(try await load(asking: app) == 200)
        #expect(app.challenges.map(\.previousFailureCount) == [0, 1])
    }

    @Test func theSameAnswerIsNotSentTwice() async throws {
        let app = StubResponder([.use(Self.wrong)])
        #expect(try await load(asking: app) == 401)
        #expect(server.seen.count == 2 && app.challenges.count == 2)
    }

    @Test func answersHaveALimit() async throws {
        let app = StubResponder { .use(Credential(user: "ann", password: Redacted("wrong \($0)"))) }
        #expect(try await load(asking: app) == 401)
        #expect(server.seen.count == Negotiation.limit + 1)
    }

    @Test func aPasswordThatHasChangedIsForgotten() async throws {
        #expect(try await load(setting: { $0.options.credential = Self.good }) == 200)
        server.password = "new"
        #expect(try await load() == 401)
        #expect(try await load() == 401)
        #expect(server.users == [nil, "ann", "ann", nil])
    }

    @Test func cancellingTheChallengeEndsTheLoad() async throws {
        let error = await #expect(throws: LoadError.self) { try await load(asking: StubResponder([.cancel])) }
        #expect(error?.code == .authenticationCancelled)
        #expect(server.discards > 0)
    }

    @Test func theLoadsDeadlineEndsTheWaiting() async throws {
        let app = StubResponder { _ in
            try? await Task.sleep(for: .seconds(30))
            return .performDefaultHandling
        }
        let error = await #expect(throws: LoadError.self) { try await load(timeout: .milliseconds(50), asking: app) }
        #expect(error?.code == .resourceTimeout)
    }

    @Test func aLoadThatIsCancelledWhileItAsksIsCancelled() async throws {
        let app = StubResponder { _ in
            try? await Task.sleep(for: .seconds(30))
            return .use(Self.good)
        }
        let task = Task { try await load(asking: app) }
        #expect(try await eventually { app.challenges.count == 1 })
        task.cancel()
        let error = await #expect(throws: LoadError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(server.seen.count == 1)
    }

    // MARK: Methods

    @Test func theServersOrderCountsAndTheAppMayRejectOne() async throws {
        server.offers = ["Newer", "Digest realm=\"d\", nonce=\"n\"", "Basic realm=\"x\", Basic realm=\"r\""]
        let app = StubResponder([.rejectProtectionSpace, .rejectProtectionSpace, .use(Self.good)])
        #expect(try await load(asking: app) == 200)
        #expect(app.challenges.map(\.protectionSpace.realm) == ["d", "x", "r"], "what is newer is not known here")
    }

    @Test func aRejectedMethodIsNotOfferedAgainInTheLoad() async throws {
        server.offers = ["Basic realm=\"x\"", "Basic realm=\"r\""]
        let app = StubResponder([.rejectProtectionSpace, .use(Self.wrong), .use(Self.good)])
        #expect(try await load(asking: app) == 200)
        #expect(app.challenges.map(\.protectionSpace.realm) == ["x", "r", "r"])
    }

    @Test func anAppsOwnFieldIsLeftAlone() async throws {
        let app = StubResponder([.use(Self.good)])
        #expect(try await load(setting: { $0.headerFields[.authorization] = "Bearer x" }, asking: app) == 401)
        #expect(server.seen == ["Bearer x"] && app.challenges.isEmpty)
    }

    @Test func aBodyThatCannotBeSentAgainIsAnError() async throws {
        let app = StubResponder([.use(Self.good)])
        func post(_ body: RequestBody) async throws -> Int {
            try await load(
                setting: { request in
                    request.method = .post
                    request.body = body
                }, asking: app)
        }
        let error = await #expect(throws: LoadError.self) { try await post(.once(length: nil) { _ in }) }
        #expect(error?.code == .bodyNotReplayable)
        #expect(try await post(.bytes([1])) == 200)
    }

    // MARK: Principals

    @Test func principalsDoNotShareCredentials() async throws {
        let bob = Principal("bob")
        server.set("his", of: "bob")
        let his = Credential(user: "bob", password: Redacted("his"))
        #expect(try await load(setting: { $0.options.credential = Self.good }) == 200)
        #expect(try await load(principal: bob) == 401)
        #expect(try await load(principal: bob, setting: { $0.options.credential = his }) == 200)
        #expect(try await load() == 200)
        #expect(server.users == [nil, "ann", nil, nil, "bob", "ann"])
    }

    @Test func aPrincipalIsOneUserInASpaceUntilItIsCleared() async throws {
        server.set("his", of: "bob")
        let his = Credential(user: "bob", password: Redacted("his"))
        let once = Credential(user: "ann", password: Redacted("secret"), persistence: .none)
        #expect(try await load(asking: StubResponder([.use(once)])) == 200)
        let error = await #expect(throws: LoadError.self) { try await load(asking: StubResponder([.use(his)])) }
        #expect(error?.code == .otherPrincipal)
        await storage.clear(for: .digest)
        await #expect(throws: LoadError.self) { try await load(asking: StubResponder([.use(his)])) }
        await storage.clear(for: .default)
        #expect(try await load(asking: StubResponder([.use(his)])) == 200)
    }

    /// The cookies and stored answers that the principal has are still the first user's.
    @Test func aRefusedPasswordDoesNotMakeThePrincipalAnotherUser() async throws {
        server.set("his", of: "bob")
        let his = Credential(user: "bob", password: Redacted("his"))
        let new = Credential(user: "ann", password: Redacted("new"))
        #expect(try await load(setting: { $0.options.credential = Self.good }) == 200)
        server.password = "new"
        for _ in 0..<2 {
            let error = await #expect(throws: LoadError.self) { try await load(asking: StubResponder([.use(his)])) }
            #expect(error?.code == .otherPrincipal)
        }
        #expect(server.users == [nil, "ann", "ann", nil], "what was refused is not sent unasked again")
        #expect(await storage.credential(for: Self.space, of: .instance) == nil)
        #expect(try await load(setting: { $0.options.credential = new }) == 200)
        #expect(try await load() == 200)
        await storage.clear()
        #expect(storage.knowsNobody)
        #expect(try await load(asking: StubResponder([.use(his)])) == 200)
        #expect(server.users.suffix(2) == [nil, "bob"])
    }

    @Test func aRequestForAnotherUserIsNotSentAsTheKnownOne() async throws {
        server.set("his", of: "bob")
        let his = Credential(user: "bob", password: Redacted("his"))
        #expect(try await load(setting: { $0.options.credential = Self.good }) == 200)
        let error = await #expect(throws: LoadError.self) {
            try await load(setting: { $0.options.credential = his })
        }
        #expect(error?.code == .otherPrincipal)
        #expect(server.users == [nil, "ann", nil], "the second load is sent without a credential")
        #expect(try await load(principal: Principal("bob"), setting: { $0.options.credential = his }) == 200)
        await storage.clear()
        #expect(try await load(setting: { $0.options.credential = his }) == 200)
        #expect(server.users == [nil, "ann", nil, nil, "bob", nil, "bob"])
    }

    /// Two sessions may have accounts of their own at one proxy: the one that it knows is not sent for the other.
    @Test func aProxyIsToldTheRequestsOwnUser() async throws {
        let space = ProtectionSpace(origin: "https://proxy.example:3128", realm: "p", method: .basic, kind: .proxy)
        let his = Credential(user: "bob", password: Redacted("his"))
        for credential in [Self.good, his, Self.good] {
            try await storage.check(credential, for: space, of: .instance)
            await storage.accepted(credential, for: space, of: .instance, scopes: [], since: storage.generation)
            let known = await storage.known(forProxy: space.origin, of: .instance)
            #expect(known?.credential == credential && known?.isOf(credential) == true && known?.isOf(nil) == true)
            #expect([Self.good, his].filter { known?.isOf($0) == true } == [credential])
        }
    }

    @Test func ofTwoUsersInLoadsAtOnceTheFirstAcceptedOneStays() async throws {
        let his = Credential(user: "bob", password: Redacted("his"))
        for credential in [Self.good, his] {
            await storage.accepted(
                credential, for: Self.space, of: .instance, scopes: ["/"], since: storage.generation)
        }
        #expect(await storage.credential(for: Self.space, of: .instance) == Self.good)
        await #expect(throws: LoadError.self) { try await storage.check(his, for: Self.space, of: .instance) }
        try await storage.check(Self.good, for: Self.space, of: .instance)
    }

    @Test func realmsThatAServerMakesUpAreForgottenInTheEnd() async {
        for number in 0...CredentialBook.limit {
            let space = ProtectionSpace(origin: "https://a.example:443", realm: "\(number)", method: .basic)
            await storage.accepted(Self.good, for: space, of: .instance, scopes: ["/"], since: storage.generation)
        }
        let first = ProtectionSpace(origin: "https://a.example:443", realm: "0", method: .basic)
        let second = ProtectionSpace(origin: "https://a.example:443", realm: "1", method: .basic)
        #expect(await storage.credential(for: first, of: .instance) == nil)
        #expect(await storage.credential(for: second, of: .instance) == Self.good)
    }

    @Test func nothingShowsThePassword() {
        #expect(!"\(Self.good)".contains("secret") && !String(reflecting: Self.good).contains("secret"))
        #expect(!"\(ChallengeDisposition.use(Self.good))".contains("secret"))
    }
}
