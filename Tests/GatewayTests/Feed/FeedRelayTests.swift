import Foundation
import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import SallyportTransport
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// A relay in a folder of its own, beside the gateway that it follows.
@Suite(.timeLimit(.minutes(2))) struct FeedRelayTests {
    @Test func itCarriesTunnelsAndEndsThemWithTheirInstance() async throws {
        try await FeedFixture.with { fixture in
            let tunnel = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
            tunnel.send("hello")
            #expect(try await tunnel.read(5) == Array("hello".utf8))
            let reply = try await fixture.administer(.withdraw(instance: fixture.instance(), .lock))
            guard case .atRelays(.done, let report) = reply else { throw TestFailure("\(reply)") }
            #expect(report.inForce == 1 && report.relays == 1 && report.missing.isEmpty)
            #expect(Duration.milliseconds(report.milliseconds) < Soak.second)
            #expect(try await eventually(within: Soak.second) { !tunnel.isOpen })
            #expect(try await fixture.relay.connect(to: fixture.origin.port, as: fixture.identity).status == 403)
            #expect(try await fixture.administer(.withdraw(instance: fixture.instance(), .unlock)) == .done)
            _ = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
        }
    }

    @Test func anAppLearnsOfIt() async throws {
        try await FeedFixture.with { fixture in
            _ = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
            let main = try await fixture.control.document(as: fixture.identity).clusters.first { $0.name == "main" }
            #expect(main?.relays.map(\.endpoint.port) == [fixture.control.relayPort, fixture.relay.port])
            guard case .relays(let relays) = try await fixture.administer(.listRelays) else { return }
            #expect(relays.map(\.port) == [fixture.relay.port])
            #expect((relays.first?.applied ?? 0) > 0)
        }
    }

    @Test func noAppIsToldOfARelayThatStillRefuses() async throws {
        // Each word is too old as soon as it comes.
        try await FeedFixture.with(lease: .zero) { fixture in
            let follows = try await eventually {
                guard case .relays(let relays) = try await fixture.administer(.listRelays) else { return false }
                return relays.first?.applied ?? 0 > 0
            }
            guard case .relays(let relays) = try await fixture.administer(.listRelays) else {
                throw TestFailure("no list")
            }
            #expect(follows && relays.map(\.port) == [nil])
            #expect(try await fixture.relay.connect(to: fixture.origin.port, as: fixture.identity).status == 503)
        }
    }

    @Test func anInstanceThatWasJustMadeOrRenewedIsNotRefused() async throws {
        try await FeedFixture.with { fixture in
            _ = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
            for _ in 0..<10 {
                let identity = try await fixture.control.activated()
                #expect(try await fixture.relay.connect(to: fixture.origin.port, as: identity).status == 200)
                let renewed = try await fixture.control.renewed(identity)
                #expect(try await fixture.relay.connect(to: fixture.origin.port, as: renewed).status == 200)
            }
        }
    }

    @Test func aRenewalThatItWasTheFirstToSeeIsReported() async throws {
        try await FeedFixture.with { fixture in
            _ = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
            let renewed = try await fixture.control.renewed(fixture.identity)
            #expect(try await fixture.relay.connect(to: fixture.origin.port, as: renewed).status == 200)
            let isRetired = try await eventually {
                try await fixture.control.get(ControlAPI.Path.configuration, as: fixture.identity).status == 403
            }
            #expect(isRetired)
            // The relay hears of it by the feed.
            let isRefused = try await eventually {
                try await fixture.relay.connect(to: fixture.origin.port, as: fixture.identity).status == 403
            }
            #expect(isRefused)
        }
    }

    @Test func aRenewalThatTheStoreDidNotTakeIsReportedAgain() async throws {
        try await FeedFixture.with(isFaulty: true) { fixture in
            let store = try #require(await fixture.control.data.data.store as? FaultyStore)
            _ = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
            let renewed = try await fixture.control.renewed(fixture.identity)
            store.refuseChanges(true)
            #expect(try await fixture.relay.connect(to: fixture.origin.port, as: renewed).status == 200)
            #expect(try await eventually { store.refusedChanges > 0 })
            store.refuseChanges(false)
            let isRetired = try await eventually {
                try await fixture.control.get(ControlAPI.Path.configuration, as: fixture.identity).status == 403
            }
            #expect(isRetired)
        }
    }

    @Test func aRelayThatDoesNotAnswerIsNamed() async throws {
        // Long enough for the other relay to answer, even on a busy machine.
        try await FeedFixture.with(patience: .seconds(4)) { fixture in
            _ = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
            _ = try await EnrolledRelay.enrolled(at: fixture.control.data.data, named: "relay-b.example")
            let reply = try await fixture.administer(.withdraw(instance: fixture.instance(), .block))
            guard case .atRelays(.done, let report) = reply else { throw TestFailure("\(reply)") }
            #expect(report.inForce == 1 && report.relays == 2)
            #expect(report.missing == [.init(name: "relay-b.example", silent: nil)])
            #expect((4000..<20_000).contains(report.milliseconds))
        }
    }

    @Test func whatTakesNothingAwayWaitsForNoRelay() async throws {
        try await FeedFixture.with { fixture in
            #expect(try await fixture.administer(.addUser("bob")) == .done)
            guard case .atRelays(.done, _) = try await fixture.administer(.removeUser("bob", confirmed: true)) else {
                throw TestFailure("no report")
            }
        }
    }

    @Test func aRevocationIsInForceAtItToo() async throws {
        try await FeedFixture.with { fixture in
            _ = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
            let reply = try await fixture.administer(.authority(.revoke(confirmed: true)))
            guard case .atRelays(.authority, let report) = reply else { throw TestFailure("\(reply)") }
            #expect(report.inForce == 1 && report.relays == 1)
        }
    }

    @Test func aRemovedRelayEndsItsTunnelsAndRefuses() async throws {
        try await FeedFixture.with { fixture in
            let tunnel = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
            #expect(try await fixture.administer(.removeRelay(name: fixture.enrolled.name)) == .done)
            #expect(try await eventually(within: Soak.second * 2) { !tunnel.isOpen })
            #expect(try await fixture.relay.connect(to: fixture.origin.port, as: fixture.identity).status == 503)
        }
    }

    @Test func withoutAGatewayItRefusesOnceItsLeaseIsOverAndServesAgainAfterwards() async throws {
        let origin = try await TestOrigin(echoes: true)
        let data = try await DataFixture(standsStill: false)
        try await data.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
        let identity = try await data.identity()
        let quiet = Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() }
        var configuration = Gateway.Configuration.loopback
        // A port that is free when the gateway is started again.
        configuration.controlPort = Int(LoopbackPort.free())
        let again = configuration
        let gateway = Gateway(data: data.data, at: data.path, configuration: again, logger: quiet)
        let running = Task { try await gateway.run() }
        _ = try await gateway.listeners()
        let enrolled = try await EnrolledRelay.enrolled(at: data.data)
        try await enrolled.run(lease: .seconds(6)) { relay in
            let tunnel = try await relay.tunnel(to: origin.port, as: identity)
            let start = ContinuousClock.now
            running.cancel()
            _ = try await running.value
            #expect(try await eventually { !tunnel.isOpen })
            // Counted from the last word, which is a little more than a second old, or more where the machine is busy.
            #expect(start.duration(to: .now) > .seconds(1))
            #expect(try await relay.connect(to: origin.port, as: identity).status == 503)
            let store = try await SecureStore.open(
                at: data.path, protectedBy: .keyFile("\(data.path)/key"), options: .existing)
            let reopened = try await GatewayData.open(store, through: TestFleet.databases) { Date() }
            let gateway = Gateway(data: reopened, at: data.path, configuration: again, logger: quiet)
            let rerunning = Task { try await gateway.run() }
            _ = try await gateway.listeners()
            _ = try await relay.tunnel(to: origin.port, as: identity)
            rerunning.cancel()
            _ = try await rerunning.value
        }
        try await origin.close()
    }

    /// The lease of the first one is shorter, and ends while no gateway answers; the second one goes on by its own.
    @Test func anAppTurnsToAnotherRelayWhenTheLeaseOfOneIsOver() async throws {
        let origin = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let data = try await DataFixture(standsStill: false)
        try await data.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
        let identity = try await data.identity()
        let quiet = Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() }
        let gateway = Gateway(data: data.data, at: data.path, configuration: .loopback, logger: quiet)
        let running = Task { try await gateway.run() }
        _ = try await gateway.listeners()
        let first = try await EnrolledRelay.enrolled(at: data.data)
        let second = try await EnrolledRelay.enrolled(at: data.data, named: "b.localhost")
        let trust = first.membership.trust
        try await first.run(lease: .seconds(2)) { one in
            try await second.run { two in
                let relays = [
                    RelayAccess.Relay(try Endpoint("\(first.name):\(one.port)"), priority: 1),
                    RelayAccess.Relay(try Endpoint("\(second.name):\(two.port)"), priority: 2),
                ]
                for relay in relays { try await Self.awaitWord(at: relay, trust, identity, for: origin) }
                running.cancel()
                _ = try await running.value
                let isOver = try await eventually {
                    try await one.connect(to: origin.port, as: identity).status == 503
                }
                try #require(isOver)
                let access = RelayAccess(
                    cluster: "main", relays: relays, authorities: trust, identity: identity)
                try await Self.expectTraffic(to: origin, through: two, of: access)
                #expect(access.failover.relays().map(\.port) == [two.port, one.port])
            }
        }
    }

    /// Waits until a relay opens tunnels.
    private static func awaitWord(
        at relay: RelayAccess.Relay, _ trust: [[UInt8]], _ identity: ClientIdentity, for origin: TestServer
    ) async throws {
        let transport = Transport()
        let path = ConnectionPath(
            relay: RelayAccess(cluster: "main", relays: [relay], authorities: trust, identity: identity))
        let isServing = try await eventually(within: .seconds(20)) {
            let response = try? await transport.exchange(.init(.get, origin.url()), via: path)
            return response?.head.status == .ok
        }
        await transport.shutdown()
        try #require(isServing, "\(relay.endpoint)")
    }

    private static func expectTraffic(
        to origin: TestServer, through relay: RunningRelay, of access: RelayAccess
    ) async throws {
        let transport = Transport()
        let path = ConnectionPath(relay: access)
        for method in [HTTPRequest.Method.get, .post] {
            let response = try await transport.exchange(.init(method, origin.url()), via: path)
            _ = try await response.body.collect(upTo: .bytes(2))
            #expect(response.facts.connection.relay?.port == relay.port)
        }
        let target = try #require(try origin.url().endpoint)
        let tunnel = try await transport.tunnel(TunnelRequest(to: target, isSecure: false), via: path)
        #expect(tunnel.facts.connection.relay?.port == relay.port)
        tunnel.reset()
        await transport.shutdown()
    }
}
