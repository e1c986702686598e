import Logging
import TestSupport
import Testing

@testable import SallyportGateway

/// The relay of a gateway that loses the store which it shares with others.
@Suite(.timeLimit(.minutes(2))) struct OwnRelayTests {
    /// A gateway that runs over a store which fails as the test says, beside another one on the same data.
    private func with(
        lease: Duration, _ body: @Sendable (DataFixture, FaultyStore, RunningRelay, TestOrigin) async throws -> Void
    ) async throws {
        let origin = try await TestOrigin(echoes: true)
        let fixture = try await DataFixture(standsStill: false)
        try await fixture.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
        let (store, data) = try await fixture.faulty()
        var configuration = Gateway.Configuration.loopback
        configuration.relayLease = lease
        let gateway = Gateway(
            data: data, at: fixture.path, configuration: configuration,
            logger: Logger(label: "gateway") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await gateway.run() }
        let port = UInt16(try await gateway.listeners().relayPort)
        let relay = RunningRelay(
            name: "localhost", port: port, metricsPort: nil, authority: await data.authorityDER)
        do { try await body(fixture, store, relay, origin) } catch {
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

    @Test func itRefusesOnceItsLeaseIsOverAndServesAgainAfterwards() async throws {
        try await with(lease: .seconds(2)) { fixture, store, relay, origin in
            let identity = try await fixture.identity()
            let tunnel = try await relay.tunnel(to: origin.port, as: identity)
            store.set(.fails)
            #expect(try await eventually(within: .seconds(20)) { !tunnel.isOpen })
            let isRefused = try await eventually(within: .seconds(20)) {
                try await relay.connect(to: origin.port, as: identity).status == 503
            }
            #expect(isRefused)
            store.set(nil)
            _ = try await relay.tunnel(to: origin.port, as: identity)
        }
    }

    @Test func itGoesOnWithinItsLease() async throws {
        try await with(lease: .seconds(300)) { fixture, store, relay, origin in
            let identity = try await fixture.identity()
            let tunnel = try await relay.tunnel(to: origin.port, as: identity)
            store.set(.fails)
            #expect(try await relay.connect(to: origin.port, as: identity).status == 200)
            tunnel.send("hello")
            #expect(try await tunnel.read(5) == Array("hello".utf8))
        }
    }
}
