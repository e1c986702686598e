import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@testable import SallyportURLLoading

@Suite(.timeLimit(.minutes(1))) struct RoutingTests {
    @Test func theRouteDecidesBeforeAnyConnection() async throws {
        let fixture = Fixture()
        let relay = try RelayAccess.stub()
        fixture.gate.route(
            by: RoutingTable(domains: [.init("corp.example", route: .relay), .init("out.example", route: .direct)]),
            relay: relay)
        let session = fixture.loading.session
        let response = try await session.bytes(for: .get("https://a.corp.example/"))
        #expect(response.facts.decision?.route == .relay)
        _ = try await session.bytes(for: .get("https://a.out.example/"))
        #expect(fixture.client.exchanges.map(\.path.relay) == [relay, nil])
        await #expect(throws: LoadError(.refusedByPolicy, "")) {
            try await session.bytes(for: .get("https://other.example/"))
        }
        #expect(fixture.client.exchanges.count == 2)
    }

    @Test func aRelayedRouteWithoutARelayIsNeverDirect() async throws {
        let fixture = Fixture()
        fixture.gate.route(by: RoutingTable(default: .relay))
        await #expect(throws: LoadError(.relayUnreachable, "")) {
            try await fixture.loading.session.bytes(for: .get("https://a.example/"))
        }
        #expect(fixture.client.exchanges.isEmpty)
    }

    /// Not to reach any relay of one cluster takes a while.
    @Test func theSecondClusterIsTriedOnlyIfThePolicyStillNamesIt() async throws {
        let gate = StubGate()
        let table = RoutingTable(domains: [.init("example", route: .relay(cluster: "main"), secondary: "second")])
        let (relay, second) = (try RelayAccess.stub(), try RelayAccess.stub("second"))
        gate.route(by: table, relay: relay, or: second)
        let client = StubClient { _ throws(LoadError) in
            gate.route(by: table, relay: relay)
            throw LoadError(.relayUnreachable, at: .connect, "There is none.")
        }
        let loading = URLLoadingSystem(gate: gate, client: client)
        #expect(await loading.session.failure(try .get("https://a.example/"))?.code == .refusedByPolicy)
        #expect(client.exchanges.map(\.path.relay) == [relay])
    }

    @Test func eachHopIsJudged() async throws {
        let fixture = Fixture(answers: [.redirect(302, to: "https://127.0.0.1/admin"), .text("inside")])
        fixture.gate.route(by: RoutingTable(domains: [.init("example", route: .direct)]))
        await #expect(throws: LoadError(.refusedByPolicy, "")) {
            try await fixture.loading.session.bytes(for: .get("https://a.example/"))
        }
        #expect(fixture.client.exchanges.count == 1)
    }

    @Test func blocksAndFloorHoldOnRelayedConnectionsOnly() async throws {
        let fixture = Fixture()
        fixture.gate.route(
            by: RoutingTable(servers: [.init(try Endpoint("direct.example:443"), route: .direct)], default: .relay),
            relay: try .stub(), blocking: [.tls12])
        let session = fixture.loading.session
        _ = try await session.bytes(for: .get("https://relayed.example/"))
        _ = try await session.bytes(for: .get("https://direct.example/"))
        #expect(fixture.client.exchanges.map(\.path.versions.allowed) == [[.tls13], [.tls12, .tls13]])
    }

    @Test func noVersionLeftIsAnErrorForTLSOnly() async throws {
        let fixture = Fixture()
        fixture.gate.route(by: RoutingTable(default: .relay), relay: try .stub(), blocking: [.tls12], floor: .tls13)
        var configuration = SessionConfiguration()
        configuration.maximumTLSVersion = .tls12
        let session = fixture.loading.makeSession(configuration)
        await #expect(throws: LoadError(.noCommonTLSVersion, "")) {
            try await session.bytes(for: .get("https://a.example/"))
        }
        _ = try await session.bytes(for: .get("http://a.example/"))
        configuration.minimumTLSVersion = .tls13
        await #expect(throws: LoadError(.noCommonTLSVersion, "")) {
            try await fixture.loading.makeSession(configuration).bytes(for: .get("https://a.example/"))
        }
    }

    @Test func principalsAndSessionsNeverShareConnections() async throws {
        let fixture = Fixture()
        var (ann, bob) = (try LoadRequest.get("http://a.example/"), try LoadRequest.get("http://a.example/"))
        ann.options.principal = Principal("ann")
        bob.options.principal = Principal("bob")
        let sessions = [fixture.loading.makeSession(), fixture.loading.makeSession()]
        for session in sessions {
            for request in [ann, bob, try .get("http://a.example/")] { _ = try await session.bytes(for: request) }
        }
        #expect(Set(fixture.client.exchanges.map(\.path)).count == 6)
        _ = try await sessions[0].bytes(for: ann)
        #expect(fixture.client.exchanges[6].path == fixture.client.exchanges[0].path)
    }

    @Test func timeoutsAndTrustReachTheTransport() async throws {
        let fixture = Fixture()
        var configuration = SessionConfiguration()
        configuration.idleTimeout = .seconds(7)
        configuration.connectTimeout = .seconds(3)
        configuration.connectionsPerOrigin = 2
        configuration.resourceTimeout = .seconds(100)
        configuration.trust = .only([[9]])
        let session = fixture.loading.makeSession(configuration)
        let before = ContinuousClock.now
        _ = try await session.bytes(for: .get("https://a.example/"))
        var request = try LoadRequest.get("https://a.example/")
        request.options.idleTimeout = .seconds(1)
        _ = try await session.bytes(for: request)
        let exchanges = fixture.client.exchanges
        #expect(exchanges.map(\.request.idleTimeout) == [.seconds(7), .seconds(1)])
        #expect(exchanges[0].request.connectTimeout == .seconds(3))
        #expect(exchanges[0].request.connectionsPerOrigin == 2)
        #expect(exchanges[0].path.trust == .only([[9]]))
        let deadline = try #require(exchanges[0].request.deadline)
        #expect((before + .seconds(100)...ContinuousClock.now + .seconds(100)).contains(deadline))
    }
}
