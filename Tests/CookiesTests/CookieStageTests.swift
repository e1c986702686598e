import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import TestSupport
import Testing

@testable import SallyportCookies

/// The stage, above one that answers by itself.
@Suite(.timeLimit(.minutes(1))) struct CookieStageTests {
    /// Answers everything, and remembers what it was asked.
    private struct Answering: LoadStage {
        final class Seen: Sendable {
            let requests = Lock<[LoadRequest]>([])
            var cookies: [String?] {
                requests.withLock { $0.map { $0.headerFields.first { $0.name == .cookie }?.value } }
            }
        }
        let seen = Seen()
        let fields: [String]

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            seen.requests.withLock { $0.append(request) }
            var head = HTTPResponse(status: .ok)
            for field in fields { head.headerFields.append(HTTPField(name: .setCookie, lenientValue: field.utf8)) }
            return LoadResponse(head: head, url: request.url, body: ResponseBody())
        }
    }

    /// Keeps the server's first answer to itself, and sends the request again, as the cache may.
    private struct Telling: LoadStage {
        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            let response = try await next.load(request, in: context)
            let again = await next.tellAbove(response.fieldsSentNow, answering: request, in: context)
            _ = try await next.load(again, in: context)
            return LoadResponse(head: HTTPResponse(status: .ok), url: request.url, body: ResponseBody())
        }
    }

    private static func context(_ principal: Principal = .instance) -> LoadContext {
        LoadContext(
            requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(60), idleTimeout: .seconds(60),
            principal: principal)
    }

    private let answering = Answering(fields: ["id=1; Max-Age=100; Path=/", "bad=\u{1}", "other=2; Domain=com"])

    private func load(
        _ request: LoadRequest, through stage: CookieStage, of principal: Principal = .instance
    ) async throws {
        let response = try await LoadChain([stage, answering]).load(request, in: Self.context(principal))
        #expect(response.head.headerFields[values: .setCookie].count == 3, "the app sees what the server said")
    }

    private let request = try? LoadRequest.get("https://www.example.com/a")

    @Test func cookiesOfAnAnswerAreSentWithTheNextRequest() async throws {
        let fixture = try await JarFixture()
        let stage = CookieStage(jar: fixture.jar())
        for _ in 0..<2 { try await load(try #require(request), through: stage) }
        #expect(answering.seen.cookies == [nil, "id=1"])
        fixture.store.close()
    }

    @Test(arguments: [true, false]) func aRequestSwitchesCookiesOnAndOff(isOn: Bool) async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        try await jar.take("id=0; Path=/", at: "https://www.example.com/")
        let stage = CookieStage(jar: jar, handlesCookies: !isOn)
        var request = try #require(request)
        try await load(request, through: stage)
        request.options.handlesCookies = isOn
        try await load(request, through: stage)
        #expect(answering.seen.cookies == (isOn ? [nil, "id=0"] : ["id=0", nil]))
        #expect(try await jar.sent(to: "https://www.example.com/") == "id=1")
        fixture.store.close()
    }

    @Test func aFieldOfTheAppsOwnGoesAlone() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        let stage = CookieStage(jar: jar)
        var request = try #require(request)
        try await load(request, through: stage)
        request.headerFields[.cookie] = "mine=1"
        try await load(request, through: stage)
        #expect(answering.seen.cookies == [nil, "mine=1"])
        #expect(answering.seen.requests.withLock { $0.last?.headerFields.filter { $0.name == .cookie }.count } == 1)
        fixture.store.close()
    }

    @Test func neverMeansThatNoneIsKept() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        try await jar.take("old=1", at: "https://www.example.com/")
        let stage = CookieStage(jar: jar, acceptPolicy: .never)
        for _ in 0..<2 { try await load(try #require(request), through: stage) }
        #expect(answering.seen.cookies == ["old=1", "old=1"])
        fixture.store.close()
    }

    @Test(arguments: [
        (CookieAcceptPolicy.onlyFromMainDocument, "https://news.test/", nil),
        (.onlyFromMainDocument, "https://api.example.com/", "id=1"), (.always, "https://api.example.com/", "id=1"),
    ])
    func theMainDocumentDecides(_ policy: CookieAcceptPolicy, _ document: String, _ expected: String?) async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        var request = try #require(request)
        request.options.mainDocument = try RequestURL(document)
        try await load(request, through: CookieStage(jar: jar, acceptPolicy: policy))
        #expect(try await jar.sent(to: "https://www.example.com/") == expected)
        fixture.store.close()
    }

    @Test func alwaysTakesWhatSameSiteAllowsFromElsewhere() async throws {
        let fixture = try await JarFixture()
        for (policy, expected) in [(CookieAcceptPolicy.always, "n=1"), (.onlyFromMainDocument, nil)] {
            let jar = fixture.jar("\(policy)")
            let answering = Answering(fields: ["n=1; SameSite=None; Secure; Path=/", "d=2; Path=/"])
            var request = try #require(request)
            request.options.mainDocument = try RequestURL("https://news.test/")
            let chain = LoadChain([CookieStage(jar: jar, acceptPolicy: policy), answering])
            _ = try await chain.load(request, in: Self.context())
            #expect(try await jar.sent(to: "https://www.example.com/") == expected)
        }
        fixture.store.close()
    }

    @Test(arguments: [
        (CookieAcceptPolicy.onlyFromMainDocument, true, "id=1" as String?), (.never, true, nil),
        (.onlyFromMainDocument, false, nil),
    ])
    func cookiesOfAnAnswerThatDoesNotComeUpAreKept(
        _ policy: CookieAcceptPolicy, _ handlesCookies: Bool, _ expected: String?
    ) async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        let stage = CookieStage(jar: jar, acceptPolicy: policy, handlesCookies: handlesCookies)
        _ = try await LoadChain([stage, Telling(), answering]).load(try #require(request), in: Self.context())
        #expect(try await jar.sent(to: "https://www.example.com/") == expected)
        #expect(answering.seen.cookies == [nil, expected], "What is sent again has what was set.")
        fixture.store.close()
    }

    @Test func cookiesThatAnAnswerTakesAwayAreNotSentAgain() async throws {
        let fixture = try await JarFixture()
        let jar = fixture.jar()
        try await jar.take("id=0; Path=/", at: "https://www.example.com/")
        let answering = Answering(fields: ["id=; Max-Age=0; Path=/"])
        _ = try await LoadChain([CookieStage(jar: jar), Telling(), answering])
            .load(try #require(request), in: Self.context())
        #expect(answering.seen.cookies == ["id=0", nil])
        fixture.store.close()
    }

    @Test func aFieldOfTheAppsOwnIsSentAgainAsItIs() async throws {
        let fixture = try await JarFixture()
        var request = try #require(request)
        request.headerFields[.cookie] = "mine=1"
        _ = try await LoadChain([CookieStage(jar: fixture.jar()), Telling(), answering])
            .load(request, in: Self.context())
        #expect(answering.seen.cookies == ["mine=1", "mine=1"])
        fixture.store.close()
    }

    @Test func aNamedJarKeepsThemToo() async throws {
        let fixture = try await JarFixture()
        let jars = CookieJars(in: fixture.store, gate: StubGate(), logger: Logger(label: "test"))
        let stages = jars.stages(of: .named("reports")) + [Telling(), answering]
        _ = try await LoadChain(stages).load(try #require(request), in: Self.context())
        #expect(try await jars.jar(named: "reports").sent(to: "https://www.example.com/") == "id=1")
        #expect(answering.seen.cookies == [nil, "id=1"])
        await jars.shutdown()
        fixture.store.close()
    }

    @Test func principalsAreKeptApart() async throws {
        let fixture = try await JarFixture()
        let stage = CookieStage(jar: fixture.jar())
        let request = try #require(request)
        try await load(request, through: stage, of: Principal("ann"))
        try await load(request, through: stage, of: Principal("bob"))
        try await load(request, through: stage, of: Principal("ann"))
        #expect(answering.seen.cookies == [nil, nil, "id=1"])
        fixture.store.close()
    }

    @Test func aClosedGateRefusesBeforeAnythingIsSent() async throws {
        let fixture = try await JarFixture()
        let gate = StubGate()
        gate.close(AccessDenied(.withdrawn))
        let stage = CookieStage(jar: fixture.jar(gate: gate))
        let request = try #require(request)
        await #expect(throws: LoadError(.withdrawn, "")) { try await load(request, through: stage) }
        #expect(answering.seen.cookies.isEmpty)
        fixture.store.close()
    }

    @Test func aStoreThatCannotBeReadFailsTheLoad() async throws {
        let fixture = try await JarFixture()
        fixture.store.close()
        let request = try #require(request)
        await #expect(throws: LoadError(.fileSystem, "")) {
            try await load(request, through: CookieStage(jar: fixture.jar()))
        }
    }

    @Test func aRecordSaysThatThereWereCookiesAndNotWhich() async throws {
        let fixture = try await JarFixture()
        let stage = CookieStage(jar: fixture.jar("reports"))
        let request = try #require(request)
        try await load(request, through: stage)
        var context = Self.context()
        let recorder = LoadRecorder(request, id: 1)
        context.recorder = recorder
        _ = try await LoadChain([stage, answering]).load(request, in: context)
        let decisions = recorder.record.decisions
        #expect(decisions.map(\.kind) == [.cookies, .cookies])
        #expect(decisions.map(\.value) == ["sent", "kept 1 of 3"])
        #expect(decisions.map(\.reason) == ["reports", "reports"])
        fixture.store.close()
    }

    @Test func otherSchemesHaveNoCookies() async throws {
        let fixture = try await JarFixture()
        let url = try RequestURL("http+unix://%2Frun%2Fx/")
        try await load(LoadRequest(.get, url), through: CookieStage(jar: fixture.jar()))
        #expect(answering.seen.cookies == [nil])
        fixture.store.close()
    }
}
