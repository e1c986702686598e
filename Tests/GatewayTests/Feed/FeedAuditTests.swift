import Foundation
import Logging
import SallyportBase
import SallyportCore
import SallyportSecureStore
import SallyportSocketDiagnosis
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// What relays on machines of their own tell of access, in the trail of the gateway that they follow.
@Suite(.timeLimit(.minutes(2))) struct FeedAuditTests {
    private static let event = [
        "kind": "connect", "time": "1767225600000", "outcome": "opened", "target": "a.example:443",
    ]
    private static var quiet: Logger { Logger(label: "relay") { _ in SwiftLogNoOpLogHandler() } }

    private func withRelay(_ body: @Sendable (ControlFixture, EnrolledRelay) async throws -> Void) async throws {
        try await ControlFixture.with(DataFixture(standsStill: false)) { control in
            try await body(control, EnrolledRelay.enrolled(at: control.data.data))
        }
    }

    /// The entries of a kind that relays have told.
    private static func entries(
        _ control: ControlFixture, of kind: AuditKind = .connect
    ) async throws -> [AuditEntry] {
        try await control.data.relayEntries().filter { $0[.kind] == kind.rawValue }
    }

    private static func body(_ number: Int64, _ events: [[String: String]], process: String = "a1") throws -> [UInt8] {
        Array(
            try FeedCoding.encoder.encode(FeedBatch(process: process, number: number, lost: 0, events: events)))
    }

    // MARK: A relay that runs

    @Test func verdictsAndEndsAreEnteredUnderTheRelaysName() async throws {
        try await FeedFixture.with { fixture in
            let instance = try await fixture.instance()
            let tunnel = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
            tunnel.send("hello")
            _ = try await tunnel.read(5)
            #expect(try await fixture.relay.connect(to: 1, as: fixture.identity).status == 403)
            _ = try await fixture.administer(.withdraw(instance: instance, .lock))
            let isTold = try await eventually(within: .seconds(10)) {
                try await !Self.entries(fixture.control, of: .tunnel).isEmpty
            }
            try #require(isTold)
            let verdicts = try await Self.entries(fixture.control)
            let opened = try #require(verdicts.first { $0[.outcome] == "opened" })
            #expect(opened[.target] == "127.0.0.1:\(fixture.origin.port)" && opened[.address] == "127.0.0.1")
            #expect(opened[.instance] == instance && opened[.user] == "ann" && opened[.actor] == "instance")
            #expect(opened[.relay] == EnrolledRelay.standardName && opened[.detail]?.hasSuffix("Z") == true)
            #expect(verdicts.contains { $0[.outcome] == "http_request_denied" && $0[.target] == "127.0.0.1:1" })
            let ended = try await Self.entries(fixture.control, of: .tunnel)
            #expect(ended.map { $0[.outcome] } == ["withdrawn"])
            #expect(ended.first?[.sent] == "5" && ended.first?[.received] == "5")
            #expect(try await fixture.control.data.report().isSound)
        }
    }

    @Test func whatIsLeftWhenARelayEndsIsEntered() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await withRelay { control, enrolled in
            try await control.data.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
            let identity = try await control.activated()
            try await enrolled.run { relay in _ = try await relay.tunnel(to: origin.port, as: identity) }
            // Nothing is waited for: the relay has ended once the gateway had them.
            #expect(try await Self.entries(control, of: .tunnel).count == 1)
            #expect(try await Self.entries(control).contains { $0[.outcome] == "opened" })
        }
        try await origin.close()
    }

    @Test func aGuardsVerdictsAreEnteredUnderItsName() async throws {
        try await withRelay { control, enrolled in
            var configuration = Gateway.Configuration.loopback
            configuration.role = .guarding
            configuration.relayGuard = .init(path: "\(enrolled.path)/guard.sock", port: nil)
            let gateway = try await Gateway(
                at: enrolled.path, protectedBy: .keyFile("\(enrolled.path)/key"), configuration: configuration,
                logger: Self.quiet)
            let running = Task { try await gateway.run() }
            _ = try await gateway.listeners()
            try await control.data.perform(.addServer(.init(endpoint: "a.example:443")))
            let certificate = try await control.activated().certificates[0]
            let ends = SocketEnds(local: SocketEnd(.v4(1), port: 1), remote: SocketEnd(.v4(2), port: 2))
            func ask(_ target: String) async throws -> GuardAnswer {
                try await GuardClient(path: "\(enrolled.path)/guard.sock").ask(
                    GuardQuestion(ends: ends, target: Endpoint(target), certificate: certificate))
            }
            let isAllowed = try await eventually {
                if case .allowed = try await ask("a.example:443") { true } else { false }
            }
            #expect(isAllowed)
            guard case .refused = try await ask("127.0.0.1:1") else { throw TestFailure("It is not refused.") }
            await gateway.shutdown()
            try await running.value
            let verdicts = try await Self.entries(control)
            #expect(verdicts.allSatisfy { $0[.relay] == EnrolledRelay.standardName && $0[.action] == "guard" })
            #expect(verdicts.contains { $0[.outcome] == "allowed" && $0[.target] == "a.example:443" })
            #expect(verdicts.contains { $0[.outcome] == "refused" && $0[.target] == "127.0.0.1:1" })
        }
    }

    // MARK: Who may tell, and how often

    @Test func onlyAnEnrolledRelayMayTell() async throws {
        try await withRelay { control, relay in
            let body = try Self.body(1, [Self.event])
            let instance = try await control.activated()
            #expect(try await control.post(FeedAPI.audit, body).status == 401)
            #expect(try await control.post(FeedAPI.audit, body, as: instance).status == 401)
            try await control.data.perform(.removeRelay(name: relay.name))
            #expect(try await control.post(FeedAPI.audit, body, as: relay.identity).status == 403)
            #expect(try await Self.entries(control).isEmpty)
        }
    }

    @Test func theNameIsThatOfTheCertificate() async throws {
        try await withRelay { control, relay in
            let other = try await EnrolledRelay.enrolled(at: control.data.data, named: "relay-b.example")
            let event = Self.event.merging(["relay": relay.name, "gateway": relay.name]) { $1 }
            #expect(try await control.post(FeedAPI.audit, Self.body(1, [event]), as: other.identity).status == 200)
            // The answer came once they were in the store.
            #expect(try await Self.entries(control).map { $0[.relay] } == ["relay-b.example"])
            let kind = Self.event.merging(["kind": "administration"]) { $1 }
            #expect(try await control.post(FeedAPI.audit, Self.body(2, [kind]), as: other.identity).status == 400)
            #expect(try await Self.entries(control, of: .administration).isEmpty)
        }
    }

    @Test func aBatchThatComesAgainIsEnteredOnce() async throws {
        try await withRelay { control, relay in
            var counts: [Int] = []
            for (number, process) in [(1, "a1"), (1, "a1"), (2, "a1"), (1, "a1"), (1, "b2")] as [(Int64, String)] {
                let body = try Self.body(number, [Self.event], process: process)
                #expect(try await control.post(FeedAPI.audit, body, as: relay.identity).status == 200)
                counts.append(try await Self.entries(control).count)
            }
            #expect(counts == [1, 1, 2, 2, 3])
        }
    }

    @Test func whatIsTooMuchIsRefused() async throws {
        try await withRelay { control, relay in
            let long = [UInt8](repeating: UInt8(ascii: " "), count: FeedBatch.limit + 1)
            #expect(try await control.post(FeedAPI.audit, long, as: relay.identity).status == 413)
            let body = try Self.body(1, [Self.event])
            var status = 200
            for _ in 0..<200 where status == 200 {
                status = try await control.post(FeedAPI.audit, body, as: relay.identity).status
            }
            #expect(status == 429)
            #expect(try await Self.entries(control).count == 1)
        }
    }

    // MARK: Gateways that do not answer

    /// A gateway that cannot be reached, or says nothing.
    private static func silent(_ relay: EnrolledRelay, _ port: UInt16) throws -> FeedClient {
        FeedClient(
            address: try Endpoint("127.0.0.1:\(port)"), identity: relay.membership.client,
            trust: relay.membership.trust)
    }

    @Test func whileNoGatewayAnswersEventsWaitAndThenGoToAnother() async throws {
        try await withRelay { control, relay in
            let recorder = AuditRecorder()
            let (gone, present) = (try Self.silent(relay, 1), try relay.client(of: control.port))
            let clients = Lock<[FeedClient]>([gone])
            let courier = AuditCourier(recorder, logger: Self.quiet) { clients.withLock { $0 } }
            let running = Task { await courier.run() }
            for port in 1...3 {
                recorder.connect(nil, try Endpoint("a.example:\(port)"), address: nil, error: "http_request_denied")
            }
            // It was tried by then.
            try await Task.sleep(for: .milliseconds(1500))
            #expect(try await Self.entries(control).isEmpty)
            clients.withLock { $0 = [gone, present] }
            #expect(try await eventually(within: .seconds(10)) { try await Self.entries(control).count == 3 })
            running.cancel()
            await running.value
            await courier.finish()
            #expect(try await Self.entries(control).count == 3)
        }
    }

    @Test func anEndWaitsTwoSecondsAtMostAndCountsWhatIsLost() async throws {
        let data = try await DataFixture(standsStill: false)
        let relay = try await EnrolledRelay.enrolled(at: data.data)
        let deaf = try DeafListener()
        let client = try Self.silent(relay, deaf.port)
        let (recorder, log) = (AuditRecorder(), LogRecorder())
        let courier = AuditCourier(
            recorder, logger: Logger(label: "relay") { _ in RecordingLogHandler(recorder: log) }
        ) { Array(repeating: client, count: 3) }
        recorder.connect(nil, nil, address: nil, error: "http_request_error")
        let start = ContinuousClock.now
        await courier.finish()
        // Two, and what a busy machine adds.
        #expect(ContinuousClock.now - start < .seconds(4))
        #expect(log.lines.contains { $0.contains("are lost") && $0.contains("count=1") }, "\(log.lines)")
    }
}
