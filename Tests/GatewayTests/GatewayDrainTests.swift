import Logging
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// The end of a gateway while a client of its control port does not let it drain.
@Suite(.timeLimit(.minutes(1))) struct GatewayDrainTests {
    /// A request that is answered, and one whose body does not come.
    private static let requests = """
        GET \(ControlAPI.Path.health) HTTP/1.1\r
        Host: localhost\r
        \r
        POST \(ControlAPI.Path.enroll) HTTP/1.1\r
        Host: localhost\r
        Authorization: Basic YTpi\r
        Content-Length: 4000\r
        \r

        """

    /// Clients with a request under way.
    private func slowClients(of port: Int, _ authority: [UInt8]) async throws -> [TestConnection] {
        var clients: [TestConnection] = []
        for _ in 0..<4 {
            let client = try await TestConnection.open(port: UInt16(port), authority: authority, identity: nil)
            client.send(Self.requests)
            #expect(try await client.head().hasPrefix("HTTP/1.1 200"))
            clients.append(client)
        }
        return clients
    }

    /// Its relay follows no policy any more: a withdrawal at another gateway of the fleet would not reach it.
    @Test func itsRelayDoesNotWaitForTheOtherListeners() async throws {
        let origin = try await TestOrigin(echoes: true)
        let data = try await DataFixture(standsStill: false)
        try await data.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
        let gateway = Gateway(
            data: data.data, at: data.path, configuration: .loopback,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await gateway.run() }
        let listeners = try await gateway.listeners()
        let authority = await data.data.authorityDER
        let relay = RunningRelay(
            name: "localhost", port: UInt16(listeners.relayPort), metricsPort: nil, authority: authority)
        let slow = try await slowClients(of: listeners.controlPort, authority)
        let identity = try await data.identity()
        let tunnel = try await relay.tunnel(to: origin.port, as: identity)
        let ending = Task { await gateway.shutdown() }
        #expect(try await eventually { !tunnel.isOpen })
        await #expect(throws: (any Error).self) { _ = try await relay.connect(to: origin.port, as: identity) }
        // The gateway has not ended yet.
        #expect(slow.contains { $0.isOpen })
        for client in slow { client.close() }
        relay.leave()
        await ending.value
        try await running.value
        try await origin.close()
    }
}
