import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// Connections that take a while to be made, as over a real network: libcurl 7.88 closes a socket that is not connected
/// yet without saying so, and the next one gets its number.
@Suite(.timeLimit(.minutes(1)), .onBothEnginesAsUsual)
struct PendingConnectionTests {
    private let transport = Transport()
    private let crowded: CrowdedServer

    init() throws { crowded = try CrowdedServer() }

    private func answer(_ connection: TestConnection) {
        connection.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }

    private func get(
        _ port: UInt16, by scheme: String = "http", within limit: Duration = .seconds(30),
        mayShare: Bool = false
    ) async throws -> [UInt8] {
        var request = ExchangeRequest(.get, try RequestURL("\(scheme)://127.0.0.1:\(port)/"))
        request.connectTimeout = limit
        if mayShare { request.collectsUpTo = .bytes(2) }
        return try await transport.exchange(request, via: ConnectionPath()).body.collect(upTo: .bytes(2))
    }

    @Test func aConnectionIsMadeAfterOneThatWasCancelled() async throws {
        let first = Task { try await get(crowded.port) }
        #expect(try await eventually { crowded.isAwaited })
        first.cancel()
        await #expect(throws: LoadError(.cancelled, "")) { _ = try await first.value }
        try await expectAnotherIsMade()
    }

    @Test func aConnectionIsMadeAfterOneThatWasTooLate() async throws {
        await #expect(throws: LoadError.self) { _ = try await get(crowded.port, within: .milliseconds(100)) }
        try await expectAnotherIsMade()
    }

    private func expectAnotherIsMade() async throws {
        let second = Task { try await get(crowded.port) }
        #expect(try await eventually { crowded.isAwaited })
        let server = crowded.open(answer)
        #expect(try await second.value == Array("ok".utf8))
        #expect(server.acceptedConnections >= 1)
    }

    /// libcurl lets the others wait for the first one's connection, which they might share, and then for the second's.
    @Test func allThatWaitForAConnectionAreTooLateAtTheSameTime() async throws {
        let start = ContinuousClock.now
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask { [port = crowded.port] in
                    await #expect(throws: LoadError(.cannotConnect, "")) {
                        _ = try await get(port, by: "https", within: .seconds(2), mayShare: true)
                    }
                }
            }
        }
        #expect(start.duration(to: .now) < .seconds(9))
    }

    /// Nothing is heard of the server, so it is not to blame.
    @Test func thoseThatWaitForARelayBlameTheRelay() async throws {
        let path = try ConnectionPath(relay: World().access(to: [crowded.port]))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    await #expect(throws: LoadError(.relayUnreachable, "")) {
                        var request = ExchangeRequest(.get, try RequestURL("https://server.example/"))
                        request.connectTimeout = .seconds(1)
                        request.collectsUpTo = .bytes(2)
                        _ = try await transport.exchange(request, via: path)
                    }
                }
            }
        }
    }

    @Test func theNextRelayIsReachedAfterOneThatTakesNoConnection() async throws {
        let (world, next) = (try World(), try CrowdedServer())
        let origin = try TestServer(answer)
        let path = try ConnectionPath(relay: world.access(to: [crowded.port, next.port]))
        let load = Task { try await transport.exchange(.init(.get, origin.url()), via: path) }
        #expect(try await eventually { next.isAwaited })
        let relay = next.open { TestRelay.serve($0, world.relayTLS) }
        #expect(try await load.value.facts.connection.relay?.port == relay.port)
    }
}
