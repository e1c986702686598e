import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportEventLoop
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// What a new connection takes over from an old one, where addresses of both kinds lead, and on which loop it lives.
@Suite(.timeLimit(.minutes(1)), .onBothEnginesAsUsual)
struct ConnectionReuseTests {
    private func get(
        _ transport: Transport, _ request: ExchangeRequest, _ path: ConnectionPath
    ) async throws -> ConnectionFacts {
        let response = try await transport.exchange(request, via: path)
        let body = try await response.body.collect(upTo: .bytes(2))
        #expect(body == Array("ok".utf8))
        return response.facts.connection
    }

    /// libcurl finds out that the server chooses HTTP/1.1, and its connection is used until ours takes its place.
    @Test func connectionThatFoundOutTheProtocolGivesWayAfterEightExchanges() async throws {
        let web = try await WebServer.start(speaksHTTP2: false)
        let transport = Transport()
        var reused: [Bool] = []
        for _ in 0..<11 { reused.append(try await get(transport, web.request("/small"), web.path()).isReused) }
        let fresh = HTTP1Engine.chosen == .libcurl ? [0] : [0, 8]
        #expect(reused.indices.filter { !reused[$0] } == fresh)
        let log = try await web.log(of: 11)
        #expect(Set(log.map { $0[1] }).count == fresh.count)
    }

    /// A TLS session belongs to its path as a connection does (RFC 8446 §2.2).
    @Test(arguments: ["TLSv1.2", "TLSv1.3"])
    func sessionsOfTLSAreResumedOnTheirPathOnly(_ version: String) async throws {
        let web = try await WebServer.start(requestsPerConnection: 1, versions: version)
        let transport = Transport()
        var request = try web.request("/small")
        request.protocols = .http1Only
        for principal in ["ann", "ann", "bob", "bob"] {
            _ = try await get(transport, request, web.path(of: principal))
        }
        let log = try await web.log(of: 4)
        #expect(Set(log.map { $0[1] }).count == 4)
        #expect(log.map { $0[2] } == [".", "r", ".", "r"])
    }

    @Test func addressesOfVersionSixAreReached() async throws {
        let web = try await WebServer.start()
        let url = try RequestURL("http://[::1]:\(web.nginx.port)/small")
        let facts = try await get(Transport(), ExchangeRequest(.get, url), ConnectionPath())
        #expect(facts.remoteAddress == "::1" && facts.httpVersion == "HTTP/1.1")
    }

    /// `localhost` has addresses of both kinds; nothing listens at one of them (RFC 8305).
    @Test func theOtherKindOfAddressIsTriedWhereOneRefuses() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let request = try ExchangeRequest(.get, RequestURL("http://localhost:\(server.port)/"))
        let facts = try await get(Transport(), request, ConnectionPath())
        #expect(facts.remoteAddress == "127.0.0.1")
    }

    @Test func connectionsThatIdleAreClosedAndThoseInUseAreNot() async throws {
        let server = try TestServer { connection in
            connection.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let slow = try TestServer { connection in
            _ = connection.readHead()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            connection.awaitEnd()
        }
        let transport = Transport(idleLifetime: .milliseconds(50))
        for principal in ["ann", "bob"] {
            _ = try await get(transport, ExchangeRequest(.get, server.url()), ConnectionPath(partition: .of(principal)))
        }
        let pending = try await transport.exchange(.init(.get, slow.url()), via: ConnectionPath(partition: .of("eve")))
        #expect(try await eventually { server.openConnections == 0 })
        #expect(slow.openConnections == 1)
        let facts = try await get(
            transport, ExchangeRequest(.get, server.url()), ConnectionPath(partition: .of("ann")))
        #expect(!facts.isReused && server.acceptedConnections == 3)
        pending.body.discard()
        #expect(try await eventually { slow.openConnections == 0 && server.openConnections == 0 })
    }

    /// After long work, a loop finds the end of a path's connections due together with libcurl's timer for the path.
    @Test func aPathIsClosedThoughItsTimerIsDueToo() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let loops = EventLoopGroup(count: 1, name: "test")
        let transport = Transport(loops: loops, idleLifetime: .milliseconds(80))
        _ = try await get(transport, ExchangeRequest(.get, server.url()), ConnectionPath())
        try await Task.sleep(for: .milliseconds(110))
        loops.loops[0].execute { usleep(300_000) }
        #expect(try await eventually { server.openConnections == 0 })
        await transport.shutdown()
        await loops.shutdown()
    }

    /// Tasks that run on a loop keep their connections there; all others share those of one loop.
    @Test func eachLoopHasItsConnections() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let loops = EventLoopGroup(count: 2, name: "test")
        let transport = Transport(loops: loops)
        let request = try ExchangeRequest(.get, server.url())
        for loop in loops.loops {
            let task = Task(executorPreference: loop) {
                for turn in 0..<3 {
                    let facts = try await get(transport, request, ConnectionPath())
                    #expect(facts.isReused == (turn > 0))
                }
            }
            try await task.value
        }
        #expect(server.acceptedConnections == 2)
        for _ in 0..<4 {
            let facts = try await get(transport, request, ConnectionPath())
            #expect(facts.isReused)
        }
        #expect(server.acceptedConnections == 2)
        await transport.shutdown()
        await loops.shutdown()
    }

    /// What is left of a transport is let go of after its loops are gone.
    @Test func aTransportThatWasShutDownNeedsItsLoopsNoMore() async throws {
        let loops = EventLoopGroup(count: 1, name: "test")
        var transport: Transport? = Transport(loops: loops)
        await transport?.shutdown()
        await transport?.shutdown()
        await loops.shutdown()
        transport?.closeConnections { _ in true }
        transport?.endExchanges(with: .cancelled()) { _ in true }
        let url = try RequestURL("http://127.0.0.1:9/")
        let error = await #expect(throws: LoadError.self) {
            _ = try await transport?.exchange(.init(.get, url), via: ConnectionPath())
        }
        #expect(error?.code == .sessionInvalidated)
        transport = nil
    }

    /// A loop's exchanges may be awaited from another loop and from none.
    @Test func bodiesCrossLoops() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let loops = EventLoopGroup(count: 2, name: "test")
        let transport = Transport(loops: loops)
        let request = try ExchangeRequest(.get, server.url())
        for (start, end) in [(0, 1), (1, 0), (0, 0)] {
            let response = try await Task(executorPreference: loops.loops[start]) {
                try await transport.exchange(request, via: ConnectionPath())
            }.value
            let body = try await Task(executorPreference: loops.loops[end]) {
                try await response.body.collect(upTo: .bytes(2))
            }.value
            #expect(body == Array("ok".utf8))
        }
        await transport.shutdown()
        await loops.shutdown()
    }
}
