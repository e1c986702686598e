import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// A policy that changes while connections are made: they are judged by the rules in force once they stand.
@Suite(.timeLimit(.minutes(1)), .onBothEnginesAsUsual)
struct JudgedConnectionTests {
    private let transport = Transport()
    private let refusal = LoadError(.refusedByPolicy, at: .routing, "No TLS 1.2 any more.")

    private func refuseTLS12() {
        transport.judge { [refusal] connection in connection.tlsVersion == .tls12 ? refusal : nil }
    }

    private func send(_ request: ExchangeRequest, _ authority: [UInt8]) async throws {
        var request = request
        request.connectionsPerOrigin = 1
        let response = try await transport.exchange(request, via: ConnectionPath(trust: .only([authority])))
        _ = try await response.body.collect(upTo: .bytes(2))
    }

    @Test func aRequestThatWaitedForAnothersPlaceIsNotSentOverATLSVersionThatIsRefusedByThen() async throws {
        let world = try World()
        let heads = Lock(0)
        let server = try world.server(isSecure: true, { $0.version = .tls12 }) { client in
            while client.readHead() != nil { heads.withLock { $0 += 1 } }
        }
        let request = try ExchangeRequest(.get, server.url(scheme: "https"))
        let first = Task { try await send(request, world.origin.der) }
        #expect(try await eventually { heads.withLock { $0 } == 1 })
        let second = Task { try await send(request, world.origin.der) }
        refuseTLS12()
        await #expect(throws: LoadError(.refusedByPolicy, "")) { try await first.value }
        await #expect(throws: LoadError(.refusedByPolicy, "")) { try await second.value }
        #expect(heads.withLock { $0 } == 1)
    }

    @Test func aConnectionThatSeveralExchangesCouldShareIsJudgedToo() async throws {
        let server = try await WebServer.start(versions: "TLSv1.2")
        refuseTLS12()
        let request = try server.request("/small")
        for _ in 0..<2 {
            await #expect(throws: LoadError(.refusedByPolicy, "")) { try await send(request, server.authority) }
        }
        #expect(server.nginx.log.isEmpty)
    }

    /// What has asked the gate before a withdrawal reaches the loop only behind it: there is no exchange yet that the
    /// withdrawal could end.
    @Test func aRequestThatReachesTheLoopBehindAWithdrawalIsNotSent() async throws {
        let gate = StubGate()
        let observation = gate.onAccessChange { [transport] in transport.follow($0, of: gate) }
        let heads = Lock(0)
        let server = try TestServer { client in
            while client.readHead() != nil { heads.withLock { $0 += 1 } }
        }
        gate.withdraw(.blocked)
        await #expect(throws: LoadError(.withdrawn, "")) {
            try await transport.exchange(.init(.get, server.url()), via: ConnectionPath())
        }
        #expect(heads.withLock { $0 } == 0)
        withExtendedLifetime(observation) {}
    }

    /// It would be used by a request that had asked before the relay was removed.
    @Test func anIdleConnectionThroughARelayThatWasRemovedIsClosed() async throws {
        let world = try World()
        let origin = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let relay = try world.relay()
        let response = try await transport.exchange(.init(.get, origin.url()), via: world.path(relay))
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
        #expect(relay.openConnections == 1)
        transport.judge { [refusal] connection in connection.relay?.port == relay.port ? refusal : nil }
        #expect(try await eventually { relay.openConnections == 0 })
    }

    @Test func aConnectionThatTheRulesAllowIsUsed() async throws {
        let server = try await WebServer.start()
        refuseTLS12()
        try await send(server.request("/small"), server.authority)
    }
}
