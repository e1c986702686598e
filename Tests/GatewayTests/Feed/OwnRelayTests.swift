import Logging
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportGateway

/// The relay of a gateway that loses the store which it shares with others, and a relay that follows this gateway.
@Suite(.timeLimit(.minutes(2))) struct OwnRelayTests {
    private struct OwnRelayFixture: Sendable {
        /// Another gateway on the same data.
        let other: DataFixture
        /// The gateway that runs.
        let data: GatewayData
        /// The store of the gateway that runs, which fails as the test says.
        let store: FaultyStore
        /// The relay of the gateway that runs.
        let relay: RunningRelay
        let origin: TestOrigin
    }

    private func with(lease: Duration, _ body: @Sendable (OwnRelayFixture) async throws -> Void) async throws {
        let origin = try await TestOrigin(echoes: true)
        let other = try await DataFixture(standsStill: false)
        try await other.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
        let (store, data) = try await other.faulty()
        var configuration = Gateway.Configuration.loopback
        configuration.relayLease = lease
        let gateway = Gateway(
            data: data, at: other.path, configuration: configuration,
            logger: Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await gateway.run() }
        let port = UInt16(try await gateway.listeners().relayPort)
        let relay = RunningRelay(
            name: "localhost", port: port, metricsPort: nil, authority: await data.authorityDER)
        let fixture = OwnRelayFixture(other: other, data: data, store: store, relay: relay, origin: origin)
        do { try await body(fixture) } catch {
            store.set(nil)
            relay.leave()
            running.cancel()
            throw error
        }
        // The last entries of the audit trail are written at the end.
        store.set(nil)
        relay.leave()
        running.cancel()
        try await running.value
        try await origin.close()
    }

    @Test func aRelayRefusesOnceItsLeaseIsOverAndServesAgainAfterwards() async throws {
        try await with(lease: .seconds(2)) { fixture in
            let (relay, port) = (fixture.relay, fixture.origin.port)
            let identity = try await fixture.other.identity()
            let tunnel = try await relay.tunnel(to: port, as: identity)
            fixture.store.set(.fails)
            #expect(try await eventually(within: .seconds(20)) { !tunnel.isOpen })
            let isRefused = try await eventually(within: .seconds(20)) {
                try await relay.connect(to: port, as: identity).status == 503
            }
            #expect(isRefused)
            fixture.store.set(nil)
            _ = try await relay.tunnel(to: port, as: identity)
        }
    }

    @Test func aRelayGoesOnWithinItsLease() async throws {
        try await with(lease: .seconds(300)) { fixture in
            let (relay, port) = (fixture.relay, fixture.origin.port)
            let identity = try await fixture.other.identity()
            let tunnel = try await relay.tunnel(to: port, as: identity)
            fixture.store.set(.fails)
            #expect(try await relay.connect(to: port, as: identity).status == 200)
            tunnel.send("hello")
            #expect(try await tunnel.read(5) == Array("hello".utf8))
        }
    }

    /// The answer is 503 within the lease too: 403 would be final for an app that has other relays to try.
    @Test(arguments: [FaultyStore.Fault.fails, .isCutOff])
    func anInstanceThatTheGatewayCannotLookUpIsToTryAnotherRelay(_ fault: FaultyStore.Fault) async throws {
        try await with(lease: .seconds(300)) { fixture in
            try await Self.expectUnavailable(of: fixture.relay, in: fixture, when: fault)
        }
    }

    @Test(arguments: [FaultyStore.Fault.fails, .isCutOff])
    func anInstanceThatTheFollowedGatewayCannotLookUpIsToTryAnotherRelay(_ fault: FaultyStore.Fault) async throws {
        try await with(lease: .seconds(300)) { fixture in
            let enrolled = try await EnrolledRelay.enrolled(at: fixture.data)
            try await enrolled.run { relay in try await Self.expectUnavailable(of: relay, in: fixture, when: fault) }
        }
    }

    private static func expectUnavailable(
        of relay: RunningRelay, in fixture: OwnRelayFixture, when fault: FaultyStore.Fault
    ) async throws {
        let port = fixture.origin.port
        let known = try await fixture.other.identity()
        _ = try await relay.tunnel(to: port, as: known)
        fixture.store.set(fault)
        let late = try await fixture.other.identity()
        #expect(try await relay.connect(to: port, as: late).status == 503)
        #expect(try await relay.connect(to: port, as: known).status == 200)
        fixture.store.set(nil)
        _ = try await relay.tunnel(to: port, as: late)
    }
}

/// What a relay says before it has word, and without it.
@Suite struct FollowedPolicyTests {
    @Test func noCertificateIsRefusedForGoodWithoutWord() async throws {
        let (fixture, other) = (try await DataFixture(), try await DataFixture())
        let gate = LeaseGate()
        let policy = FollowedPolicy(current: await fixture.data.currentState(), lease: gate)
        let target = try Endpoint("a.example:443")
        let certificates = try await [fixture.identity(), other.identity()].map { $0.certificates[0] }
        for certificate in certificates {
            let client = try #require(policy.client(presenting: certificate))
            guard case .refused(_, _, 503) = client.decide(target) else { throw TestFailure("It is judged.") }
        }
        var lease = RelayLease(.seconds(300))
        lease.heard(at: .now)
        gate.publish(lease)
        let areAccepted = certificates.map { policy.client(presenting: $0) != nil }
        #expect(areAccepted == [true, false])
    }
}

/// For how long a gateway's own relay goes by word from its store.
@Suite struct OwnLeaseTests {
    private static func isOverAtOnce(_ data: GatewayData) async -> Bool {
        let gate = LeaseGate()
        await FeedHub(data, lease: .zero, gate: gate, patience: .relaysAnswer).ask()
        return gate.isOver
    }

    @Test func onlyTheLeaseOnASharedStoreHasAnEnd() async throws {
        let fixture = try await DataFixture()
        let shared = try await fixture.faulty().data
        #expect(await Self.isOverAtOnce(shared))
        #expect(await Self.isOverAtOnce(fixture.data) == (fixture.fleet != nil))
    }

    @Test func withoutAnyWordThereIsNoLease() async throws {
        let gate = LeaseGate()
        let fixture = try await DataFixture()
        let hub = FeedHub(fixture.data, lease: .seconds(300), gate: gate, patience: .relaysAnswer)
        #expect(gate.isOver)
        await hub.ask()
        #expect(!gate.isOver)
    }
}
