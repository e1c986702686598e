import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

@Suite(.timeLimit(.minutes(1)), .onBothEnginesAsUsual)
struct RelayTests {
    private let world: World
    private let transport = Transport()

    init() throws { world = try World() }

    private func failure(
        _ url: RequestURL, _ path: ConnectionPath, within limit: Duration = .seconds(10)
    ) async -> LoadError? {
        do {
            var request = ExchangeRequest(.get, url)
            request.connectTimeout = limit
            let response = try await transport.exchange(request, via: path)
            _ = try await response.body.collect(upTo: .kibibytes(1))
            return nil
        } catch { return error }
    }

    @Test func fetchesThroughTheRelayWithTLSEndToEnd() async throws {
        let origin = try TestServer { [world] connection in
            world.originTLS.accept(connection)?.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let relay = try world.relay()
        for turn in 0..<3 {
            let response = try await transport.exchange(
                .init(.get, origin.url(scheme: "https")), via: world.path(relay))
            #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
            #expect(response.facts.connection.isReused == (turn > 0))
            #expect(response.facts.connection.relay?.port == relay.port)
        }
        #expect(relay.acceptedConnections == 1)
    }

    @Test func plainHTTPGoesThroughConnectToo() async throws {
        let origin = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let relay = try world.relay()
        let response = try await transport.exchange(.init(.get, origin.url()), via: world.path(relay))
        #expect(response.head.status == .ok)
    }

    @Test func identitiesNeverShareAConnection() async throws {
        let peers = Lock<Set<[UInt8]>>([])
        let relay = try TestServer { [world] connection in
            guard let client = world.relayTLS.accept(connection) else { return }
            if let peer = client.peerCertificate { peers.withLock { _ = $0.insert(peer) } }
            guard client.readHead() != nil else { return }
            client.write("HTTP/1.1 200 OK\r\n\r\n")
            client.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        }
        let other = try world.gateway.client()
        for identity in [world.instance, other, world.instance, other] {
            let path = try world.path(relay, identity: identity)
            let error = await failure(try RequestURL("http://a.example/"), path)
            #expect(error == nil, "\(String(describing: error))")
        }
        #expect(relay.acceptedConnections == 2)
        #expect(try peers.withLock { $0 } == [world.instance.der, other.der])
    }

    @Test func aRefusedConnectTellsStatusAndProxyStatus() async throws {
        let relay = try TestServer { [world] connection in
            guard let client = world.relayTLS.accept(connection), client.readHead() != nil else { return }
            client.write(
                "HTTP/1.1 403 Forbidden\r\nProxy-Status: gw; error=destination_ip_prohibited\r\nContent-Length: 0\r\n\r\n"
            )
        }
        let error = try #require(await failure(try RequestURL("https://a.example/"), world.path(relay)))
        #expect(error.code == .relayRefused && error.step == .relayConnect)
        #expect(error.message.contains("403") && error.message.contains("destination_ip_prohibited"))
    }

    enum Fault: CaseIterable { case close, reset, stall, garbage, endlessHeader }

    /// Time enough for what comes before the fault.
    private func limit(_ fault: Fault) -> Duration { fault == .stall ? .seconds(3) : .seconds(10) }

    @Test(arguments: Fault.allCases)
    func aFaultBeforeTLSIsTyped(_ fault: Fault) async throws {
        let relay = try TestServer { connection in
            _ = connection.read()
            switch fault {
            case .close: break
            case .reset: connection.reset()
            case .stall: connection.awaitEnd()
            case .garbage, .endlessHeader: connection.write("HTTP/1.1 400 no TLS here\r\n\r\n")
            }
        }
        let error = try #require(
            await failure(try RequestURL("https://a.example/"), world.path(relay), within: limit(fault)))
        #expect(error.step == .relayTLS, "\(error)")
        #expect([.connectionLost, .tlsFailed, .idleTimeout].contains(error.code), "\(error)")
    }

    @Test(arguments: Fault.allCases)
    func aFaultAtConnectIsTyped(_ fault: Fault) async throws {
        let relay = try TestServer { [world] connection in
            guard let client = world.relayTLS.accept(connection), client.readHead() != nil else { return }
            switch fault {
            case .close: break
            case .reset: connection.reset()
            case .stall: connection.awaitEnd()
            case .garbage: client.write("\u{1}\u{2}garbage\r\nmore\r\n\r\n")
            case .endlessHeader:
                client.write("HTTP/1.1 200 OK\r\n")
                while client.write("X-Fill: \(String(repeating: "a", count: 1000))\r\n") {}
            }
        }
        let error = try #require(
            await failure(try RequestURL("https://a.example/"), world.path(relay), within: limit(fault)))
        #expect(error.step == .relayConnect, "\(error)")
        #expect([.connectionLost, .relayProtocol, .idleTimeout].contains(error.code), "\(error)")
    }

    @Test(arguments: Fault.allCases)
    func aFaultInsideTheTunnelIsTyped(_ fault: Fault) async throws {
        let relay = try TestServer { [world] connection in
            guard let client = world.relayTLS.accept(connection), client.readHead() != nil else { return }
            client.write("HTTP/1.1 200 OK\r\n\r\n")
            _ = client.read()
            switch fault {
            case .close: client.end()
            case .reset: connection.reset()
            case .stall: connection.awaitEnd()
            case .garbage, .endlessHeader: client.write("garbage, not TLS")
            }
        }
        let error = try #require(
            await failure(try RequestURL("https://a.example/"), world.path(relay), within: limit(fault)))
        #expect(error.step == .serverTLS, "\(error)")
        #expect([.connectionLost, .tlsFailed, .idleTimeout].contains(error.code), "\(error)")
    }

    @Test(arguments: [TestAuthority.Usage.client, .unsaid, .any])
    func aRelayWhoseCertificateIsNotForServersIsRefused(_ usage: TestAuthority.Usage) async throws {
        let tls = try TestTLS(world.gateway.server(usage: usage))
        let relay = try TestServer { TestRelay.serve($0, tls) }
        let error = try #require(await failure(try RequestURL("http://a.example/"), world.path(relay)))
        #expect(error.code == .relayNotTrusted && error.step == .relayTLS, "\(error)")
    }

    @Test func relaysOfOtherAuthoritiesNamesOrTimesAreRefused() async throws {
        let wrong = try [
            TestAuthority().server(), world.gateway.server(names: ["other.example"]),
            world.gateway.server(validity: .expired),
        ]
        for identity in wrong {
            let relay = try TestServer { TestRelay.serve($0, TestTLS(identity)) }
            let error = try #require(await failure(try RequestURL("http://a.example/"), world.path(relay)))
            #expect(error.code == .relayNotTrusted && error.step == .relayTLS, "\(error)")
        }
    }

    @Test func aRelayThatRefusesTheIdentityIsTold() async throws {
        let relay = try world.relay()
        let stranger = try TestAuthority(name: "Stranger").client()
        let path = try world.path(relay, identity: stranger)
        let error = try #require(await failure(try RequestURL("http://a.example/"), path))
        #expect(error.code == .clientCertificateRefused && error.step == .relayTLS, "\(error)")
    }

    @Test func theServersCertificateIsCheckedInsideTheTunnel() async throws {
        let tls = try TestTLS(world.gateway.server(names: ["localhost"], addresses: [.v4(0x7f00_0001)]))
        let origin = try TestServer { tls.accept($0)?.answerAll("HTTP/1.1 200 OK\r\n\r\n") }
        let relay = try world.relay()
        let error = try #require(await failure(try origin.url(scheme: "https"), world.path(relay)))
        #expect(error.code == .serverNotTrusted && error.step == .serverTLS, "\(error)")
    }

    @Test func theNextRelayIsTriedWhereOneDoesNotConnect() async throws {
        let origin = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let relay = try world.relay()
        let dead = try TestServer { _ in }
        let deadPort = dead.port
        dead.stop()
        let path = try world.path(ports: [deadPort, relay.port])
        let response = try await transport.exchange(.init(.get, origin.url()), via: path)
        #expect(response.facts.connection.relay?.port == relay.port)
    }

    @Test func withoutAnyRelayNothingGoesDirect() async throws {
        let origin = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let dead = try TestServer { _ in }
        dead.stop()
        let error = try #require(await failure(try origin.url(), world.path(dead)))
        #expect(error.code == .relayUnreachable && error.step == .connect, "\(error)")
        #expect(origin.acceptedConnections == 0)
    }
}
