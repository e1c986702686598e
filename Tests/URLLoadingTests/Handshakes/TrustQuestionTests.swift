import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportConnecting
@testable import SallyportURLLoading

/// A server's chain that is put to the app (DESIGN §6): no handshake is held open, and not a byte of the request is
/// sent before the answer.
@Suite(.timeLimit(.minutes(1)))
struct TrustQuestionTests {
    private let site: Site
    private let gate = StubGate()
    private let loading: URLLoadingSystem

    init() throws {
        site = try Site(TestAuthority())
        loading = URLLoadingSystem(gate: gate)
    }

    private func session(
        _ delegate: (any SessionDelegate)?, isTrusted: Bool = false, idleTimeout: Duration = .seconds(30),
        resourceTimeout: Duration = .seconds(60)
    ) throws -> SecureSession {
        var configuration = SessionConfiguration()
        if isTrusted { configuration.trust = try .only([site.authority.der]) }
        configuration.idleTimeout = idleTimeout
        configuration.resourceTimeout = resourceTimeout
        return loading.makeSession(configuration, delegate: delegate)
    }

    @Test func anUntrustedChainIsShownToTheAppAndTakenWhereItSaysSo() async throws {
        let delegate = AskedDelegate(.trust(.forSession))
        let session = try session(delegate)
        for _ in 0..<3 { #expect(await session.failure(try site.request()) == nil) }
        let evaluation = try #require(delegate.evaluations.first)
        #expect(delegate.asked.count == 1 && delegate.asked[0].isOfSession)
        #expect(evaluation.failure?.reason == .unknownAuthority, "\(evaluation)")
        #expect(try evaluation.endpoint == site.server.endpoint && evaluation.chain.count == 1)
        #expect(evaluation.connection.remoteAddress == "127.0.0.1")
        #expect(site.seen.heads.count == 3 && site.seen.failedHandshakes == 1 && site.seen.handshakes == 2)
    }

    @Test func aStreamAsksAsALoadDoes() async throws {
        let delegate = AskedDelegate(.trust(.forSession))
        let session = try session(delegate)
        for _ in 0..<2 {
            let stream = try await session.streamTask(to: try site.server.endpoint, isSecure: true)
            stream.close()
        }
        #expect(delegate.asked.count == 1 && delegate.evaluations.first?.failure?.reason == .unknownAuthority)
        // The decision holds for loads too.
        #expect(await session.failure(try site.request()) == nil)
        #expect(delegate.asked.count == 1)
    }

    @Test func aStreamWhoseServerTheAppRejectsIsNotOpened() async throws {
        let session = try session(AskedDelegate(.rejectProtectionSpace), isTrusted: true)
        await #expect(throws: LoadError(.serverNotTrusted, "")) {
            _ = try await session.streamTask(to: try site.server.endpoint, isSecure: true)
        }
    }

    @Test func aChainThatVerifiesIsShownOnce() async throws {
        let delegate = AskedDelegate(.performDefaultHandling)
        let session = try session(delegate, isTrusted: true)
        for _ in 0..<3 { #expect(await session.failure(try site.request()) == nil) }
        #expect(delegate.asked.count == 1 && delegate.evaluations[0].isTrusted)
        #expect(site.seen.handshakes == 2)
    }

    @Test func anAppRejectsAChainThatVerifies() async throws {
        let session = try session(AskedDelegate(.rejectProtectionSpace), isTrusted: true)
        #expect(await session.failure(try site.request())?.code == .serverNotTrusted)
        #expect(site.seen.heads.isEmpty)
    }

    @Test func aCancelledQuestionEndsTheLoad() async throws {
        let session = try session(AskedDelegate(.cancel))
        let failure = await session.failure(try site.request())
        #expect(failure?.code == .authenticationCancelled && failure?.step == .serverTLS)
    }

    @Test func theMethodForLoadsIsAskedWhereTheSessionsIsAbsent() async throws {
        let delegate = AskedDelegate(load: { _ in .trust(.forSession) })
        #expect(await (try session(delegate)).failure(try site.request()) == nil)
        #expect(delegate.asked.map(\.isOfSession) == [true, false])
    }

    @Test func withoutADelegateVerificationDecides() async throws {
        struct Silent: SessionDelegate {}
        for delegate in [Silent() as (any SessionDelegate)?, nil] {
            let failure = await (try session(delegate)).failure(try site.request())
            #expect(failure?.code == .serverNotTrusted && failure?.underlying is ServerTrustEvaluation)
            #expect(await (try session(delegate, isTrusted: true)).failure(try site.request()) == nil)
        }
    }

    @Test func trustForOneLoadIsAskedForAgainByTheNext() async throws {
        let delegate = AskedDelegate(.trust(.none))
        let session = try session(delegate)
        for _ in 0..<2 { #expect(await session.failure(try site.request()) == nil) }
        #expect(delegate.asked.count == 2 && site.seen.handshakes == 4)
        #expect(delegate.asked.allSatisfy { $0.challenge.previousFailureCount == 0 })
    }

    @Test func anotherChainIsANewQuestion() async throws {
        let delegate = AskedDelegate(.trust(.forSession))
        let session = try session(delegate)
        #expect(await session.failure(try site.request()) == nil)
        try site.renew()
        site.server.closeConnections()
        #expect(await session.failure(try site.request()) == nil)
        #expect(Set(delegate.evaluations.map(\.fingerprint)).count == 2)
    }

    @Test func aChainThatChangesBetweenQuestionAndAnswerIsAskedAboutThreeTimesAtMost() async throws {
        let site = site
        let delegate = AskedDelegate(session: { _ in
            try? site.renew()
            return .trust(.forSession)
        })
        let failure = await (try session(delegate)).failure(try site.request())
        #expect(failure?.code == .serverNotTrusted && delegate.asked.count == 3)
        #expect(site.seen.heads.isEmpty)
    }

    @Test func aDecisionAfterTheCancellationDoesNothing() async throws {
        let (asked, answer) = (Signal(), Signal())
        let delegate = AskedDelegate(session: { _ in
            asked.fire()
            await answer.wait()
            return .trust(.permanent)
        })
        let session = try session(delegate)
        let request = try site.request()
        let load = Task { await session.failure(request) }
        await asked.wait()
        load.cancel()
        answer.fire()
        #expect(await load.value?.code == .cancelled)
        #expect(site.seen.heads.isEmpty && site.seen.handshakes == 1)
    }

    private static func trustsWhenTold() -> (answer: Signal, delegate: AskedDelegate) {
        let answer = Signal()
        let delegate = AskedDelegate(session: { _ in
            await answer.wait()
            return .trust(.forSession)
        })
        return (answer, delegate)
    }

    @Test func theSameQuestionIsPutOnce() async throws {
        let (answer, delegate) = Self.trustsWhenTold()
        let session = try session(delegate)
        let request = try site.request()
        try await withThrowingTaskGroup(of: LoadError?.self) { group in
            for _ in 0..<6 { group.addTask { await session.failure(request) } }
            let connector = loading.engine.connector
            #expect(try await eventually { await connector.waiterCount == 6 })
            answer.fire()
            for try await failure in group { #expect(failure == nil) }
        }
        #expect(delegate.asked.count == 1 && site.seen.heads.count == 6)
    }

    @Test func aCancelledLoadLeavesTheSharedQuestionRunning() async throws {
        let (answer, delegate) = Self.trustsWhenTold()
        let session = try session(delegate)
        let request = try site.request()
        let loads = (0..<2).map { _ in Task { await session.failure(request) } }
        let connector = loading.engine.connector
        #expect(try await eventually { await connector.waiterCount == 2 && delegate.asked.count == 1 })
        loads[0].cancel()
        #expect(await loads[0].value?.code == .cancelled)
        answer.fire()
        #expect(await loads[1].value == nil)
        #expect(delegate.asked.count == 1)
    }

    enum End: CaseIterable { case withdrawn, invalidated, disabled }

    /// The app does not look whether its task was cancelled.
    @Test(arguments: End.allCases) func aQuestionEndsAtOnceWithAccessAndWithTheSession(_ end: End) async throws {
        let (answer, delegate) = Self.trustsWhenTold()
        let session = try session(delegate, resourceTimeout: .seconds(20))
        let request = try site.request()
        let load = Task { await session.failure(request) }
        #expect(try await eventually { delegate.asked.count == 1 })
        switch end {
        case .withdrawn: gate.withdraw(.blocked)
        case .invalidated: session.invalidate()
        case .disabled: loading.disable()
        }
        #expect(await load.value?.code == (end == .withdrawn ? .withdrawn : .sessionInvalidated))
        answer.fire()
        #expect(site.seen.heads.isEmpty && site.seen.handshakes == 1)
    }

    @Test func anAnswerAfterABlockDoesNothing() async throws {
        let (answer, delegate) = Self.trustsWhenTold()
        let session = try session(delegate, resourceTimeout: .seconds(20))
        let request = try site.request()
        let load = Task { await session.failure(request) }
        #expect(try await eventually { delegate.asked.count == 1 })
        // It keeps what was decided before.
        gate.withdraw(.blocked)
        #expect(await load.value?.code == .withdrawn)
        let connector = loading.engine.connector
        #expect(try await eventually { await connector.waiterCount == 0 })
        answer.fire()
        gate.authorize()
        #expect(await session.failure(request) == nil)
        #expect(delegate.asked.count == 2)
    }

    @Test func theIdleTimeoutStandsStillWhileTheAppThinks() async throws {
        let delegate = AskedDelegate(session: { _ in
            try? await Task.sleep(for: .seconds(4))
            return .trust(.forSession)
        })
        let session = try session(delegate, idleTimeout: .seconds(3))
        #expect(await session.failure(try site.request()) == nil)
    }

    @Test func theResourceTimeoutRuns() async throws {
        let delegate = AskedDelegate(session: { _ in
            try? await Task.sleep(for: .seconds(30))
            return .trust(.forSession)
        })
        let session = try session(delegate, resourceTimeout: .milliseconds(500))
        #expect(await session.failure(try site.request())?.code == .resourceTimeout)
    }

    @Test func theAnswerOfALoadsOwnDelegateHoldsAsLongAsItSays() async throws {
        let session = try session(nil)
        let own = AskedDelegate(load: { _ in .trust(.none) })
        #expect(await session.failure(try site.request(), delegate: own) == nil)
        #expect(await session.failure(try site.request())?.code == .serverNotTrusted)
        let lasting = AskedDelegate(load: { _ in .trust(.forSession) })
        #expect(await session.failure(try site.request(), delegate: lasting) == nil)
        #expect(await session.failure(try site.request()) == nil)
    }

    /// Each is asked, without a handshake for the question alone.
    @Test func theOwnDelegatesOfLoadsShareConnections() async throws {
        let session = try session(nil, isTrusted: true)
        for _ in 0..<3 {
            let own = AskedDelegate(load: { _ in .performDefaultHandling })
            #expect(await session.failure(try site.request(), delegate: own) == nil)
            #expect(own.evaluations.count == 1)
        }
        #expect(site.seen.handshakes == 2)
        let strict = AskedDelegate(load: { _ in .rejectProtectionSpace })
        #expect(await session.failure(try site.request(), delegate: strict)?.code == .serverNotTrusted)
        #expect(site.seen.heads.count == 3)
    }

    @Test func aPinnedHostIsNotInQuestion() async throws {
        let delegate = AskedDelegate(.trust(.forSession))
        var configuration = SessionConfiguration()
        let pins = try (1...2).map { try #require(PublicKeyPin(sha256: [UInt8](repeating: $0, count: 32))) }
        try configuration.pin("127.0.0.1", to: pins[0], backups: [pins[1]])
        let session = loading.makeSession(configuration, delegate: delegate)
        #expect(await session.failure(try site.request())?.code == .serverNotTrusted)
        #expect(delegate.asked.isEmpty && site.seen.heads.isEmpty)
    }

    @Test(arguments: [
        (["a.example"], TestAuthority.Validity.current, ServerTrustEvaluation.Failure.Reason.wrongHost),
        (["localhost"], .expired, .expired), (["localhost"], .notYet, .notYetValid),
    ])
    func theReasonIsTold(
        _ names: [String], _ validity: TestAuthority.Validity, _ reason: ServerTrustEvaluation.Failure.Reason
    ) async throws {
        let identity = try site.authority.server(names: names, addresses: [], validity: validity)
        site.change { $0.identity = identity }
        let delegate = AskedDelegate(.performDefaultHandling)
        let url = try RequestURL("https://localhost:\(site.server.port)/")
        let failure = await (try session(delegate, isTrusted: true)).failure(LoadRequest(.get, url))
        #expect(failure?.code == .serverNotTrusted && delegate.evaluations.first?.failure?.reason == reason)
    }

    @Test func permanentTrustOutlivesTheInstanceUntilRevoked() async throws {
        let store = StubDecisionStore()
        let first = URLLoadingSystem(gate: gate, decisions: store)
        let delegate = AskedDelegate(.trust(.permanent))
        #expect(await first.makeSession(delegate: delegate).failure(try site.request()) == nil)
        let second = URLLoadingSystem(gate: gate, decisions: store)
        let session = second.makeSession()
        for _ in 0..<2 { #expect(await session.failure(try site.request()) == nil) }
        #expect(site.seen.handshakes == 4)
        let url = try site.request().url
        #expect(try await second.undoPriorTrustDecision(for: url))
        #expect(try await !second.undoPriorTrustDecision(for: url))
        #expect(await session.failure(try site.request())?.code == .serverNotTrusted)
    }

    @Test func aValidChainThatReplacesATrustedOneNeedsNoAnswer() async throws {
        let store = StubDecisionStore()
        let first = URLLoadingSystem(gate: gate, decisions: store)
        #expect(await first.makeSession(delegate: AskedDelegate(.trust(.permanent))).failure(try site.request()) == nil)
        var configuration = SessionConfiguration()
        let good = try TestAuthority(name: "Good")
        configuration.trust = try .only([good.der])
        let session = URLLoadingSystem(gate: gate, decisions: store).makeSession(configuration)
        #expect(await session.failure(try site.request()) == nil)
        let identity = try good.server(addresses: [.v4(0x7f00_0001)])
        site.change { $0.identity = identity }
        site.server.closeConnections()
        #expect(await session.failure(try site.request()) == nil)
    }

    @Test func aLockForgetsWhatWasTrusted() async throws {
        let delegate = AskedDelegate(.trust(.forSession))
        let session = try session(delegate)
        #expect(await session.failure(try site.request()) == nil)
        gate.withdraw(.remoteLockout)
        gate.authorize()
        #expect(await session.failure(try site.request()) == nil)
        #expect(delegate.asked.count == 2)
    }

    @Test(arguments: [ChallengeDisposition.use(Credential(user: "a", password: Redacted("b")))])
    func anAnswerToAnotherQuestionIsAnError(_ disposition: ChallengeDisposition) async throws {
        #expect(await (try session(AskedDelegate(disposition))).failure(try site.request())?.code == .invalidRequest)
    }

    // MARK: A policy that changes while the app is asked

    enum PolicyChange: Sendable, CaseIterable {
        case withdrawn, denied

        func happen(to gate: StubGate) {
            switch self {
            case .withdrawn: gate.withdraw(.wiped)
            case .denied: gate.route(by: RoutingTable(default: .deny))
            }
        }

        var code: LoadError.Code { self == .withdrawn ? .withdrawn : .refusedByPolicy }
    }

    private func delegate(
        answering disposition: ChallengeDisposition, after change: PolicyChange
    ) -> AskedDelegate {
        AskedDelegate(session: { [gate] _ in
            change.happen(to: gate)
            return disposition
        })
    }

    @Test(
        arguments: [ChallengeDisposition.trust(.none), .trust(.forSession), .performDefaultHandling],
        PolicyChange.allCases)
    func noRequestIsSentByAWayThatEndsWhileTheAppIsAsked(
        _ disposition: ChallengeDisposition, _ change: PolicyChange
    ) async throws {
        let delegate = delegate(answering: disposition, after: change)
        let session = try session(delegate, isTrusted: disposition == .performDefaultHandling)
        let request = LoadRequest(.post, try site.server.url(scheme: "https"), body: .text("body"))
        #expect(await session.failure(request)?.code == change.code)
        #expect(delegate.asked.count == 1 && site.seen.heads.isEmpty)
        #expect(site.server.acceptedConnections == 1)
    }

    @Test(arguments: PolicyChange.allCases)
    func noStreamIsOpenedByAWayThatEndsWhileTheAppIsAsked(_ change: PolicyChange) async throws {
        let delegate = delegate(answering: .trust(.forSession), after: change)
        let session = try session(delegate)
        await #expect(throws: LoadError(change.code, "")) {
            _ = try await session.streamTask(to: try site.server.endpoint, isSecure: true)
        }
        #expect(delegate.asked.count == 1 && site.server.acceptedConnections == 1)
    }
}
