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
        #expect(ContinuousClock.now - start < .seconds(8))
    }

    @Test func theTimeLostAtARelayBelongsToNoPhase() async throws {
        let silent = try TestServer { $0.awaitEnd() }
        let reports = Lock<[ExchangeReport]>([])
        var request = try ExchangeRequest(.get, origin.url())
        request.reporter = { report in reports.withLock { $0.append(report) } }
        let response = try await transport.exchange(request, via: path(silent))
        _ = try await response.body.collect(upTo: .bytes(2))
        #expect(try await eventually { reports.withLock { $0.count } == 1 })
        let report = try #require(reports.withLock { $0.first })
        #expect(report.timing.connect >= .seconds(1) && report.timing.relaySecured >= report.timing.connect)
        let phases = LoadRecord.Phases(report)
        #expect(phases.connect != nil && phases.relayTLS != nil)
        let spent = phases.named.reduce(0) { $0 + $1.time }
        #expect(spent <= report.end.seconds - 1, "\(phases)")
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

    /// Answers each CONNECT with a refusal, whose fields are given without the last line's end.
    private func refusing(_ status: Int, _ fields: String...) throws -> TestServer {
        try TestServer { [world] connection in
            guard let client = world.relayTLS.accept(connection), client.readHead() != nil else { return }
            let lines = ["HTTP/1.1 \(status) No", "Content-Length: 0", "Connection: close"] + fields
            client.write(lines.joined(separator: "\r\n") + "\r\n\r\n")
        }
    }

    private static let leaseIsOver = "Proxy-Status: sallyport; error=proxy_internal_error; details=\"no word\""

    @Test func anyRequestGoesOnIfTheRelayCannotServeAndTheRelayIsAvoided() async throws {
        let bad = try refusing(503, Self.leaseIsOver)
        let access = try world.access(to: [bad.port, good.port])
        for session in ["one", "two"] {
            let path = ConnectionPath(relay: access, partition: ConnectionPartition(.session(session)))
            #expect(try await load(.post, body: .bytes([1]), via: path) == good.port)
        }
        #expect(bad.acceptedConnections == 1)
        let failover = access.failover
        #expect(failover.relays(butLast: nil, .now + .seconds(20)).map(\.port) == [good.port, bad.port])
        #expect(failover.relays(butLast: nil, .now + .seconds(31)).first?.port == bad.port)
    }

    @Test func streamsGoOnFromARelayThatCannotServe() async throws {
        let bad = try refusing(503, "Proxy-Status: sallyport; error=connection_limit_reached")
        let request = TunnelRequest(to: try #require(try origin.url().endpoint), isSecure: false)
        let tunnel = try await transport.tunnel(request, via: path(bad))
        #expect(tunnel.facts.connection.relay?.port == good.port)
        tunnel.reset()
        #expect(bad.acceptedConnections == 1)
    }

    @Test(arguments: [("20", 10, 21), ("86400", 290, 301), ("Tue, 24 Nov 2026 18:42:22 GMT", -1, 0), ("0", -1, 0)])
    func aRelayIsAvoidedForAsLongAsItSaysWithALimit(_ said: String, _ still: Int, _ over: Int) async throws {
        let bad = try refusing(503, "Retry-After: \(said)")
        let access = try world.access(to: [bad.port, good.port])
        #expect(try await load(via: ConnectionPath(relay: access)) == good.port)
        if still > 0 { #expect(access.failover.relays(butLast: nil, .now + .seconds(still)).first?.port == good.port) }
        #expect(access.failover.relays(butLast: nil, .now + .seconds(over)).first?.port == bad.port)
    }

    /// Squid and Apache say so of a server that they cannot reach, too.
    @Test func aRelayThatSaysNoMoreThan503IsNotAvoided() async throws {
        let bad = try refusing(503)
        let access = try world.access(to: [bad.port, good.port])
        #expect(try await load(via: ConnectionPath(relay: access)) == good.port)
        #expect(access.failover.relays().first?.port == bad.port)
    }

    @Test(arguments: [
        (403, "error=http_request_denied"), (502, "error=connection_refused"), (504, "error=dns_timeout"),
        (503, "error=destination_unavailable"),
        (503, "details=\"error=proxy_internal_error\\\"\"; error=destination_unavailable"),
        (502, "error=proxy_internal_error"), (407, "error=proxy_internal_error"),
    ])
    func aVerdictIsTakenFromTheFirstRelay(_ status: Int, _ error: String) async throws {
        let bad = try refusing(
            status, "Proxy-Status: far; error=connection_limit_reached, near; \(error)", "Retry-After: 9")
        let access = try world.access(to: [bad.port, good.port])
        let failure = await #expect(throws: LoadError.self) {
            try await load(via: ConnectionPath(relay: access))
        }
        #expect(failure?.code == .relayRefused && failure?.message.contains("\(status)") == true)
        #expect(good.acceptedConnections == 0 && access.failover.relays().first?.port == bad.port)
    }

    @Test func ifNoRelayCanServeALoadFailsWithTheLastOnesRefusal() async throws {
        let one = try refusing(503, Self.leaseIsOver)
        let two = try refusing(503, "Proxy-Status: sallyport; error=connection_limit_reached")
        let path = ConnectionPath(relay: try world.access(to: [one.port, two.port]))
        for last in ["connection_limit_reached", "connection_limit_reached"] {
            let error = await #expect(throws: LoadError.self) { try await load(via: path) }
            #expect(error?.code == .relayRefused && error?.step == .relayConnect)
            #expect(error?.message.contains("The relay answered CONNECT with 503, sallyport; error=\(last)") == true)
        }
        #expect(one.acceptedConnections == 2 && two.acceptedConnections == 2)
    }

    @Test func withoutARelayLeftALoadFailsWithItsOwnError() async throws {
        let (one, two) = (try breaking(), try breaking())
        let path = ConnectionPath(relay: try world.access(to: [one.port, two.port]))
        let error = await #expect(throws: LoadError.self) { try await load(via: path) }
        #expect(error?.code == .connectionLost)
        #expect(one.acceptedConnections == 1 && two.acceptedConnections == 1)
    }
}
