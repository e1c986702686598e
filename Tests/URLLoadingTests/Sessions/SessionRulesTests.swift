import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportURLLoading

@Suite(.timeLimit(.minutes(1))) struct SessionRulesTests {
    private let url = "http://a.example/"

    // MARK: Before authorization

    @Test func beforeAuthorizationSharedIsTheSystemSession() async throws {
        let fixture = Fixture(denied: AccessDenied(.notAuthorized))
        #expect(!fixture.loading.isSecureCommunicationEnabled)
        #expect(try await fixture.loading.shared.text(url) == "system")
        await #expect(throws: LoadError(.notAuthorized, "")) { try await fixture.loading.session.text(url) }
        await #expect(throws: LoadError(.notAuthorized, "")) { try await fixture.loading.makeSession().text(url) }
        #expect(fixture.client.exchanges.isEmpty)
    }

    @Test func authorizationMakesSharedSecure() async throws {
        let fixture = Fixture(denied: AccessDenied(.notAuthorized))
        let before = fixture.loading.shared
        fixture.gate.authorize()
        fixture.loading.enable()
        #expect(fixture.loading.isSecureCommunicationEnabled)
        #expect(fixture.loading.shared !== before)
        #expect(fixture.loading.shared === fixture.loading.session)
        #expect(try await fixture.loading.shared.text(url) == "secure")
        let first = fixture.loading.shared
        fixture.loading.enable()
        #expect(fixture.loading.shared !== first)
    }

    @Test func theSystemSessionHasNoRelayAndAsksNoGate() async throws {
        let fixture = Fixture(denied: AccessDenied(.notAuthorized))
        fixture.gate.route(by: RoutingTable(default: .deny))
        _ = try await fixture.loading.shared.text(url)
        #expect(fixture.systemClient.exchanges.map(\.path.relay) == [nil])
    }

    // MARK: The switch

    @Test func switchedOffSharedIsTheSystemSessionAndOthersAreDisabled() async throws {
        let fixture = Fixture()
        let own = fixture.loading.makeSession()
        #expect(try await own.text(url) == "secure")
        fixture.loading.disable()
        #expect(!fixture.loading.isSecureCommunicationEnabled)
        #expect(try await fixture.loading.shared.text(url) == "system")
        await #expect(throws: LoadError(.disabled, "")) { try await own.text(url) }
        await #expect(throws: LoadError(.disabled, "")) { try await fixture.loading.session.text(url) }
        await #expect(throws: LoadError(.disabled, "")) { try await fixture.loading.makeSession().text(url) }
    }

    @Test func switchingOffInvalidatesSessionsForGood() async throws {
        let fixture = Fixture()
        let own = fixture.loading.makeSession()
        fixture.loading.disable()
        fixture.loading.enable()
        await #expect(throws: LoadError(.sessionInvalidated, "")) { try await own.text(url) }
        #expect(try await fixture.loading.makeSession().text(url) == "secure")
        #expect(try await fixture.loading.session.text(url) == "secure")
        #expect(try await fixture.loading.shared.text(url) == "secure")
    }

    @Test func switchingOffEndsLoadsOfAllSessionsButTheSharedOne() async throws {
        let fixture = Fixture(answers: [StubAnswer(chunks: [[1]], staysOpen: true)])
        let shared = try await fixture.loading.shared.bytes(for: .get(url))
        let own = try await fixture.loading.makeSession().bytes(for: .get(url))
        fixture.loading.disable()
        #expect(try await own.body.next() == [1])
        await #expect(throws: LoadError(.sessionInvalidated, "")) { try await own.body.next() }
        #expect(try await shared.body.next() == [1])
        shared.body.discard()
    }

    @Test func switchingTwiceIsSwitchingOnce() async throws {
        let fixture = Fixture()
        fixture.loading.disable()
        fixture.loading.disable()
        fixture.loading.enable()
        #expect(try await fixture.loading.session.text(url) == "secure")
    }

    // MARK: Withdrawal

    @Test(arguments: [ResultCode.blocked, .wiped, .remoteLockout, .appDenied])
    func withdrawalRefusesEveryRequestWithItsCode(_ code: ResultCode) async throws {
        let fixture = Fixture()
        let own = fixture.loading.makeSession()
        fixture.gate.withdraw(code)
        #expect(!fixture.loading.isSecureCommunicationEnabled)
        for session in [own, fixture.loading.session, fixture.loading.shared, fixture.loading.makeSession()] {
            let error = await #expect(throws: LoadError(.withdrawn, "")) { try await session.text(url) }
            #expect((error?.underlying as? AccessDenied)?.code == code)
        }
        #expect(fixture.client.exchanges.isEmpty && fixture.systemClient.exchanges.isEmpty)
    }

    @Test func withdrawalEndsLoadsInFlightWithItsCode() async throws {
        let fixture = Fixture(answers: [StubAnswer(chunks: [[1]], staysOpen: true)])
        let response = try await fixture.loading.session.bytes(for: .get(url))
        // What has come and is not read yet is not read any more.
        fixture.gate.withdraw(.wiped)
        let error = await #expect(throws: LoadError(.withdrawn, "")) { try await response.body.next() }
        #expect((error?.underlying as? AccessDenied)?.code == .wiped)
    }

    /// No transport can end the body: its last byte has come. Access that is given back does not bring it back.
    @Test(arguments: [false, true]) func withdrawalDropsAWholeBodyThatIsNotRead(_ isEncoded: Bool) async throws {
        let body = [UInt8](repeating: 7, count: 300_000)
        let encoded = StubAnswer(fields: [.contentEncoding: "gzip"], chunks: [Deflater.compress(body)])
        let fixture = Fixture(answers: [isEncoded ? encoded : StubAnswer(chunks: [body])])
        let response = try await fixture.loading.session.bytes(for: .get(url))
        // The rest of what is being decoded is dropped, too.
        if isEncoded { _ = try await response.body.next() }
        fixture.gate.withdraw(.blocked)
        fixture.gate.authorize()
        let error = await #expect(throws: LoadError(.withdrawn, "")) { try await response.body.next() }
        #expect((error?.underlying as? AccessDenied)?.code == .blocked)
        _ = try await fixture.loading.session.bytes(for: .get(url))
    }

    /// Withdraws access once the policy has confirmed the answer, before the app gets it.
    private struct WithdrawingStage: LoadStage {
        let gate: StubGate

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            let response = try await next.load(request, in: context)
            gate.withdraw(.wiped)
            return response
        }
    }

    @Test func withdrawalWhileAStageWorksKeepsTheAnswerBack() async throws {
        let gate = StubGate()
        let client = StubClient([.text("secure")])
        let loading = URLLoadingSystem(gate: gate, stages: { _ in [WithdrawingStage(gate: gate)] }, client: client)
        await #expect(throws: LoadError(.withdrawn, "")) { try await loading.session.text(url) }
    }

    /// The withdrawal comes when the gate has said yes and the exchange has not begun.
    @Test func withdrawalBetweenTheQuestionAndTheExchangeEndsTheLoad() async throws {
        let gate = Lock<StubGate?>(nil)
        let client = StubClient { _ throws(LoadError) in
            gate.withLock { $0 }?.withdraw(.blocked)
            return StubAnswer(staysOpen: true)
        }
        let fixture = Fixture(client: client)
        gate.withLock { $0 = fixture.gate }
        await #expect(throws: LoadError(.withdrawn, "")) {
            try await fixture.loading.session.bytes(for: .get(url))
        }
        #expect(client.discards == 1)
    }

    @Test func afterTheWithdrawalTheSwitchIsAsItWas() async throws {
        let fixture = Fixture()
        fixture.gate.withdraw(.remoteLockout)
        fixture.gate.authorize()
        #expect(fixture.loading.isSecureCommunicationEnabled)
        #expect(try await fixture.loading.session.text(url) == "secure")
        fixture.loading.disable()
        fixture.gate.withdraw(.remoteLockout)
        await #expect(throws: LoadError(.withdrawn, "")) { try await fixture.loading.shared.text(url) }
        await #expect(throws: LoadError(.withdrawn, "")) { try await fixture.loading.session.text(url) }
        fixture.gate.authorize()
        #expect(!fixture.loading.isSecureCommunicationEnabled)
    }

    @Test func storedWithdrawalRefusesFromTheStart() async throws {
        let fixture = Fixture(denied: AccessDenied(.withdrawn, code: .wiped))
        await #expect(throws: LoadError(.withdrawn, "")) { try await fixture.loading.shared.text(url) }
    }

    // MARK: Sessions

    @Test func anInvalidatedSessionLoadsNoMore() async throws {
        let fixture = Fixture(answers: [StubAnswer(staysOpen: true)])
        let (own, other) = (fixture.loading.makeSession(), fixture.loading.makeSession())
        let (mine, others) = (try await own.bytes(for: .get(url)), try await other.bytes(for: .get(url)))
        own.invalidate()
        await #expect(throws: LoadError(.sessionInvalidated, "")) { try await own.bytes(for: .get(url)) }
        await #expect(throws: LoadError(.sessionInvalidated, "")) { try await mine.body.next() }
        _ = try await other.bytes(for: .get(url))
        others.body.discard()
        fixture.loading.session.invalidate()
        _ = try await fixture.loading.session.bytes(for: .get(url))
    }

    /// The session ends after the last check before the exchange, when the transport has no exchange to end yet.
    @Test(arguments: [false, true])
    func theEndOfASessionJustBeforeTheExchangeKeepsTheAnswerBack(_ isSwitchedOff: Bool) async throws {
        let end = Lock<(@Sendable () -> Void)?>(nil)
        let client = StubClient { _ throws(LoadError) in
            end.withLock { $0 }?()
            return StubAnswer(staysOpen: true)
        }
        let loading = Fixture(client: client).loading
        let session = loading.makeSession()
        end.withLock { $0 = { if isSwitchedOff { loading.disable() } else { session.invalidate() } } }
        await #expect(throws: LoadError(.sessionInvalidated, "")) { try await session.bytes(for: .get(url)) }
        #expect(client.discards == 1)
        end.withLock { $0 = nil }
    }

    @Test func instancesShareNothing() async throws {
        let (first, second) = (Fixture(), Fixture())
        first.gate.withdraw(.wiped)
        first.loading.disable()
        #expect(try await second.loading.session.text(url) == "secure")
        #expect(first.client.exchanges.isEmpty)
    }

    @Test func additionalHeadersFillInAndNeverReplace() async throws {
        let fixture = Fixture()
        var configuration = SessionConfiguration()
        configuration.additionalHeaders = [.userAgent: "session", .accept: "session/1"]
        let session = fixture.loading.makeSession(configuration)
        _ = try await session.bytes(for: .get(url, headerFields: [.accept: "own/1"]))
        let fields = try #require(fixture.client.requests.last).headerFields
        #expect(fields[.userAgent] == "session" && fields[.accept] == "own/1")
    }

    @Test func uploadsPostUnlessTheRequestSaysOtherwise() async throws {
        let fixture = Fixture()
        let session = fixture.loading.session
        let answer = try await session.upload(for: .get(url), from: .text("x"))
        #expect(String(decoding: answer.body, as: UTF8.self) == "secure" && answer.head.status == .ok)
        _ = try await session.upload(for: LoadRequest(.put, RequestURL(url)), from: .file("/dev/null"))
        #expect(fixture.client.requests.map(\.method) == [.post, .put])
    }

    @Test func collectingIsLimited() async throws {
        let fixture = Fixture()
        let request = try LoadRequest.get(url)
        _ = try await fixture.loading.session.data(for: request, upTo: .bytes(6))
        await #expect(throws: LoadError(.responseTooLarge, "")) {
            try await fixture.loading.session.data(for: request, upTo: .bytes(5))
        }
    }

    @Test func backgroundSessionsAreUnsupported() {
        #expect(throws: LoadError(.backgroundUnsupported, "")) {
            try SessionConfiguration.background(withIdentifier: "x")
        }
    }

    @Test(arguments: ["ftp://a.example/", "file:///etc/passwd", "data:,x"])
    func otherSchemesNeedAHandler(_ text: String) async throws {
        let fixture = Fixture()
        await #expect(throws: LoadError(.unsupportedScheme, "")) { try await fixture.loading.session.text(text) }
        await #expect(throws: LoadError(.unsupportedScheme, "")) { try await SecureSession.shared.text(text) }
    }

    @Test func shuttingDownEndsTheConnectionsAndForgetsTheObserver() async {
        let gate: StubGate
        do {
            let fixture = Fixture()
            gate = fixture.gate
            #expect(gate.observers == 2, "the sessions' and their connector's")
            await fixture.loading.shutdown()
            #expect(fixture.client.isShutDown)
        }
        #expect(gate.observers == 0)
    }
}
