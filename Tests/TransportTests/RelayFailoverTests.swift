import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// Two relays, the first of which fails at some step.
@Suite(.timeLimit(.minutes(1)), .onBothEnginesAsUsual)
struct RelayFailoverTests {
    private let world: World
    private let transport = Transport()
    private let origin: TestServer
    private let good: TestServer

    init() throws {
        world = try World()
        origin = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        good = try world.relay()
    }

    private func path(_ bad: TestServer, isSession session: String = "one") throws -> ConnectionPath {
        ConnectionPath(
            relay: try world.access(to: [bad.port, good.port]), partition: ConnectionPartition(.session(session)))
    }

    private func load(
        _ method: HTTPRequest.Method = .get, body: RequestBody? = nil, via path: ConnectionPath
    ) async throws -> UInt16? {
        let response = try await transport.exchange(.init(method, origin.url(), body: body), via: path)
        _ = try await response.body.collect(upTo: .bytes(2))
        return response.facts.connection.relay?.port
    }

    /// Answers CONNECT, reads the request, and breaks.
    private func breaking() throws -> TestServer {
        try TestServer { [world] connection in
            guard let client = world.relayTLS.accept(connection), client.readHead() != nil else { return }
            client.write("HTTP/1.1 200 OK\r\n\r\n")
            _ = client.read()
            connection.reset()
        }
    }

    @Test func aRequestThatMayBeRepeatedGoesThroughTheOtherRelay() async throws {
        let bad = try breaking()
        #expect(try await load(via: path(bad)) == good.port)
        #expect(bad.acceptedConnections == 1)
    }

    @Test func aRequestThatMayNotBeRepeatedFails() async throws {
        let bad = try breaking()
        let error = await #expect(throws: LoadError.self) {
            try await load(.post, body: .bytes(Array("order".utf8)), via: path(bad))
        }
        #expect(error?.code == .connectionLost, "\(String(describing: error))")
        #expect(origin.acceptedConnections == 0)
    }

    @Test func anyRequestGoesOnIfTheRelayEndsBeforeItAnswers() async throws {
        let bad = try TestServer { [world] connection in
            guard let client = world.relayTLS.accept(connection), client.readHead() != nil else { return }
            connection.reset()
        }
        let body = RequestBody.bytes(Array("order".utf8))
        #expect(try await load(.post, body: body, via: path(bad)) == good.port)
    }

    @Test func aRelayThatDoesNotShakeHandsIsLeftSoon() async throws {
        let bad = try TestServer { $0.awaitEnd() }
        let start = ContinuousClock.now
        #expect(try await load(.post, body: .bytes([1]), via: path(bad)) == good.port)
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    @Test func streamsGoThroughTheNextRelayToo() async throws {
        let silent = try TestServer { $0.awaitEnd() }
        let closing = try TestServer { _ in }
        for bad in [silent, closing] {
            let request = TunnelRequest(to: try #require(try origin.url().endpoint), isSecure: false)
            let tunnel = try await transport.tunnel(request, via: path(bad))
            #expect(tunnel.facts.connection.relay?.port == good.port)
            tunnel.reset()
        }
    }

    @Test func aRelayThatFailedIsAvoidedByAllConnectionsOfTheCluster() async throws {
        let bad = try breaking()
        bad.stop()
        let access = try world.access(to: [bad.port, good.port])
        for session in ["one", "two", "three"] {
            let path = ConnectionPath(relay: access, partition: ConnectionPartition(.session(session)))
            #expect(try await load(via: path) == good.port)
        }
        #expect(access.failover.relays().map(\.port) == [good.port, bad.port])
    }

    /// As a process that was stopped: the kernel takes connections, and nothing ever answers.
    @Test func whatWaitsForARelayThatFellSilentIsRepeatedThroughTheOther() async throws {
        let isSilent = Lock(false)
        let bad = try TestServer { [world] connection in
            guard !isSilent.withLock({ $0 }) else { return connection.awaitEnd() }
            guard let client = world.relayTLS.accept(connection), client.readHead() != nil else { return }
            client.write("HTTP/1.1 200 OK\r\n\r\n")
            _ = client.read()
            isSilent.withLock { $0 = true }
            connection.awaitEnd()
        }
        let start = ContinuousClock.now
        #expect(try await load(via: path(bad)) == good.port)
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    /// The server takes its time, and the relay is there: nothing is sent twice.
    @Test func aSlowServerIsWaitedFor() async throws {
        let slow = try TestServer { connection in
            _ = connection.read()
            usleep(4_000_000)
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let first = try world.relay()
        let response = try await transport.exchange(.init(.get, slow.url()), via: path(first))
        #expect(response.head.status == .ok && response.facts.connection.relay?.port == first.port)
        #expect(slow.acceptedConnections == 1)
    }

    @Test func withoutARelayLeftALoadFailsWithItsOwnError() async throws {
        let (one, two) = (try breaking(), try breaking())
        let path = ConnectionPath(relay: try world.access(to: [one.port, two.port]))
        let error = await #expect(throws: LoadError.self) { try await load(via: path) }
        #expect(error?.code == .connectionLost)
        #expect(one.acceptedConnections == 1 && two.acceptedConnections == 1)
    }
}
