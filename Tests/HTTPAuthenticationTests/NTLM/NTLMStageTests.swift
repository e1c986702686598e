import FoundationEssentials
import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import Testing

@testable import SallyportHTTPAuthentication

/// The stage with a server that checks each proof, and with servers that lead it nowhere. No I/O.
@Suite(.timeLimit(.minutes(1)))
struct NTLMStageTests {
    private let storage = CredentialStorage()
    private static let ann = Credential(user: "ann", password: Redacted("secret"))
    private static let url = "https://a.example/docs/a"

    private func load(
        _ server: NTLMServer, _ url: String = url, principal: Principal = .instance,
        method: HTTPRequest.Method = .get, body: RequestBody? = nil, credential: Credential? = ann,
        proxies: ProxySettings = .none, asking responder: (any ChallengeResponder)? = nil, session: String = "1",
        connections: Int = 6
    ) async throws -> Int {
        var request = LoadRequest(method, try RequestURL(url), body: body)
        request.options.credential = credential
        var context = LoadContext(
            requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(20), idleTimeout: .seconds(20),
            principal: principal, responder: responder, proxies: proxies)
        context.session = session
        context.connectionsPerOrigin = connections
        let chain = LoadChain([AuthenticationStage(credentials: storage), server])
        let response = try await chain.load(request, in: context)
        _ = try await response.body.collect(upTo: .bytes(10))
        return response.head.status.code
    }

    private func response(_ server: NTLMServer) async throws -> LoadResponse {
        var request = LoadRequest(.get, try RequestURL(Self.url))
        request.options.credential = Self.ann
        let context = LoadContext(
            requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(20), idleTimeout: .seconds(20),
            principal: .instance)
        return try await LoadChain([AuthenticationStage(credentials: storage), server]).load(request, in: context)
    }

    private func legs(_ server: NTLMServer) -> [Int] { server.seen.map(\.leg) }

    // MARK: The usual way

    @Test func threeMessagesOnceAndThenNone() async throws {
        let server = NTLMServer()
        for _ in 0..<3 { #expect(try await load(server) == 200) }
        #expect(legs(server) == [0, 1, 3, 0, 0])
        #expect(server.seen.map(\.connection) == [nil, 1, 1, 1, 1])
        #expect(try await load(server, "https://a.example/elsewhere") == 200)
        #expect(server.seen.count == 6, "a connection knows no paths")
    }

    @Test func anotherOriginGetsNothingUnasked() async throws {
        let server = NTLMServer()
        #expect(try await load(server) == 200)
        #expect(try await load(server, "https://b.example/", credential: nil) == 401)
        #expect(server.seen.last == NTLMServer.Seen(status: 401))
    }

    @Test func principalsAndSessionsHaveConnectionsOfTheirOwn() async throws {
        let server = NTLMServer()
        #expect(try await load(server) == 200)
        #expect(try await load(server, session: "2") == 200)
        #expect(try await load(server, principal: Principal("b"), credential: nil) == 401)
        #expect(try await load(server, principal: Principal("b")) == 200)
        #expect(server.seen.filter { $0.status == 200 }.map(\.connection) == [1, 2, 3])
    }

    @Test func aConnectionThatIsGoneIsMadeAnewWithoutTheFirstQuestion() async throws {
        let server = NTLMServer()
        #expect(try await load(server) == 200)
        server.restart()
        #expect(try await load(server, method: .post, body: .text("abc")) == 200)
        #expect(legs(server) == [0, 1, 3, 1, 3])
        #expect(server.seen.map(\.length) == [0, 0, 0, 0, 3])
    }

    /// A load never waits for a connection that it has itself.
    @Test func oneConnectionIsEnoughForAllThatMayHappen() async throws {
        let server = NTLMServer()
        #expect(try await load(server, connections: 1) == 200)
        server.restart()
        #expect(try await load(server, connections: 1) == 200, "the connection is gone")
        server.change { $0.passwords = ["ann": "new"] }
        server.restart()
        let answers = StubResponder([.use(Credential(user: "ann", password: Redacted("new")))])
        #expect(try await load(server, credential: nil, asking: answers, connections: 1) == 200, "the user is refused")
        #expect(legs(server) == [0, 1, 3, 1, 3, 1, 3, 1, 3])
    }

    @Test func manyLoadsAtOnceOutliveTheEndOfAllConnections() async throws {
        let server = NTLMServer()
        for _ in 1...3 {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<30 { group.addTask { try await load(server, connections: 3) } }
                for try await status in group { #expect(status == 200) }
            }
            server.restart()
        }
    }

    @Test func cachedAnswersNeedNoConnection() async throws {
        let server = NTLMServer()
        #expect(try await load(server) == 200)
        server.change { $0.cached = ["/docs/a"] }
        #expect(try await load(server) == 200)
        server.change { $0.cached = [] }
        #expect(try await load(server) == 200)
        #expect(legs(server) == [0, 1, 3, 0], "the connection is as good as before")
    }

    @Test func aCredentialForOneLoadKeepsNoConnection() async throws {
        let server = NTLMServer()
        let once = Credential(user: "ann", password: Redacted("secret"), persistence: .none)
        for _ in 0..<2 { #expect(try await load(server, credential: once) == 200) }
        #expect(legs(server) == [0, 1, 3, 0, 1, 3])
    }

    @Test func anOpenPageGetsTheWholeRequest() async throws {
        let server = NTLMServer()
        #expect(try await load(server) == 200)
        server.restart()
        #expect(try await load(server, "https://a.example/open", method: .post, body: .text("abc")) == 200)
        #expect(server.seen.suffix(2).map(\.length) == [0, 3] && server.seen.last?.leg == 0)
    }

    // MARK: Refusals

    @Test func aRefusedCredentialClosesItsConnections() async throws {
        let server = NTLMServer()
        #expect(try await load(server) == 200)
        server.change { $0.passwords = ["ann": "new"] }
        server.restart()
        #expect(try await load(server) == 401)
        #expect(legs(server) == [0, 1, 3, 1, 3])
        #expect(try await load(server, credential: Credential(user: "ann", password: Redacted("new"))) == 200)
    }

    @Test func clearedCredentialsTakeTheirConnectionsWithThem() async throws {
        let server = NTLMServer()
        #expect(try await load(server) == 200)
        await storage.clear(for: .ntlm)
        #expect(try await load(server, credential: nil) == 401)
        #expect(try await load(server) == 200)
        #expect(server.seen.filter { $0.status == 200 }.map(\.connection) == [1, 2])
    }

    /// What idles is closed at once, what is in use when its load has ended.
    @Test func aLoadThatGoesOnKeepsNothingOfWhatWasCleared() async throws {
        let server = NTLMServer()
        var first: LoadResponse? = try await response(server)
        _ = try await response(server).body.collect(upTo: .bytes(10))
        #expect(server.closed.isEmpty && server.seen.last?.connection == 2)
        await storage.clear()
        #expect(server.closed == [2])
        _ = try await first?.body.collect(upTo: .bytes(10))
        first = nil
        #expect(server.closed == [2, 1])
    }

    /// An unread body leaves its connection in the middle of an answer.
    @Test func abandonedBodiesCloseTheirConnections() async throws {
        let server = NTLMServer()
        _ = try await response(server)
        #expect(server.closed == [1])
        #expect(try await load(server, session: "") == 200)
        #expect(legs(server) == [0, 1, 3, 1, 3])
    }

    @Test func theServersOrderOfMethodsCountsAndTheAppMayReject() async throws {
        let server = NTLMServer { $0.offers = ["NTLM", "Basic realm=\"r\""] }
        let responder = StubResponder([.rejectProtectionSpace, .use(Self.ann)])
        #expect(try await load(server, credential: nil, asking: responder) == 200)
        #expect(responder.challenges.map(\.protectionSpace.method) == [.ntlm, .basic])
        let first = StubResponder([.use(Self.ann)])
        await storage.clear()
        #expect(try await load(server, credential: nil, asking: first) == 200)
        #expect(first.challenges.map(\.protectionSpace.method) == [.ntlm])
    }

    // MARK: Bad input

    @Test(arguments: ["", "TlRM", "TlRMTVNTUAABAAAA", "====", String(repeating: "A", count: 20_000)])
    func aBrokenChallengeEndsTheScheme(_ token: String) async throws {
        let server = NTLMServer { $0.token = token }
        #expect(try await load(server) == 401)
        #expect(legs(server) == [0, 1], "and is not asked for again")
    }

    @Test func afterABrokenChallengeTheNextMethodIsTried() async throws {
        let server = NTLMServer {
            $0.offers = ["NTLM", "Basic realm=\"r\""]
            $0.token = "TlRM,Basic realm=\"r\""
        }
        #expect(try await load(server) == 200)
        #expect(legs(server) == [0, 1, 0])
    }

    @Test func challengesWithoutAnEndEndTheLoad() async throws {
        let server = NTLMServer { $0.isEndless = true }
        let responder = StubResponder { .use(Credential(user: "ann", password: Redacted("\($0)"))) }
        #expect(try await load(server, credential: nil, asking: responder) == 401)
        #expect(server.seen.count <= Negotiation.limit + 1)
    }

    /// A challenge of the second leg without a first leg is not a first challenge.
    @Test func aChallengeOutOfTurnIsAnsweredFromTheStart() async throws {
        let server = NTLMServer { $0.offers = ["NTLM \(Data(NTLMServer.challenge).base64EncodedString())"] }
        #expect(try await load(server) == 200)
        #expect(legs(server) == [0, 1, 3])
    }

    // MARK: Proxies

    private func proxies() throws -> ProxySettings {
        try .all(Proxy("http://proxy.example:3128", credential: Self.ann))
    }

    @Test func aProxyThatAsksForNTLMAloneIsATypedError() async throws {
        let server = NTLMServer { $0.proxyOffers = ["NTLM"] }
        let error = await #expect(throws: LoadError.self) {
            _ = try await load(server, "http://a.example/", proxies: proxies())
        }
        #expect(error?.code == .unsupported)
    }

    @Test func anotherMethodOfTheProxyIsTaken() async throws {
        let server = NTLMServer { $0.proxyOffers = ["NTLM", "Basic realm=\"p\""] }
        let secure = try ProxySettings.all(Proxy("https://proxy.example:3128", credential: Self.ann))
        #expect(try await load(server, "http://a.example/", proxies: secure) == 407)
        #expect(server.seen.count == 2, "by Basic")
        #expect(try await load(server, "http://a.example/", proxies: proxies()) == 407)
        #expect(server.seen.count == 3, "and not where others read it")
    }

    /// The proxy may send what comes over one connection to the server over any.
    @Test func throughAProxyThatForwardsNothingIsProved() async throws {
        let server = NTLMServer()
        #expect(try await load(server, "http://a.example/", proxies: proxies()) == 401)
        #expect(legs(server) == [0])
    }

    @Test func throughAProxyThatForwardsNothingIsProvedUnaskedEither() async throws {
        let server = NTLMServer()
        #expect(try await load(server, "http://a.example/") == 200)
        #expect(try await load(server, "http://a.example/", proxies: proxies(), session: "2") == 401)
        #expect(legs(server) == [0, 1, 3, 0])
    }
}
