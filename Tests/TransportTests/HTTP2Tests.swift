import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

/// HTTP/2 with a real server (RFC 9113).
@Suite(.timeLimit(.minutes(1)))
struct HTTP2Tests {
    private let transport = Transport()

    private func get(_ request: ExchangeRequest, _ path: ConnectionPath) async throws -> [UInt8] {
        var request = request
        request.collectsUpTo = .mebibytes(8)
        let response = try await transport.exchange(request, via: path)
        #expect(response.head.status == .ok)
        return try await response.body.collect(upTo: .mebibytes(8))
    }

    @Test func exchangesAtOnceShareOneConnection() async throws {
        let web = try await WebServer.start()
        let (request, path) = (try web.request("/small"), web.path())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<80 {
                group.addTask {
                    let body = try await get(request, path)
                    #expect(body == Array("ok".utf8))
                }
            }
            try await group.waitForAll()
        }
        let log = try await web.log(of: 80)
        #expect(log.allSatisfy { $0[0] == "HTTP/2.0" && $0[3] == "200" })
        #expect(Set(log.map { $0[1] }).count == 1)
    }

    @Test func aConnectionOverWhichAnExchangeWasIdleForTooLongIsNotUsedAgain() async throws {
        let web = try await WebServer.start()
        var request = try web.request("/small")
        #expect(try await get(request, web.path()) == Array("ok".utf8))
        web.nginx.signal(SIGSTOP)
        defer { web.nginx.signal(SIGCONT) }
        request.idleTimeout = .milliseconds(500)
        let error = await #expect(throws: LoadError.self) { try await get(request, web.path()) }
        #expect(error?.code == .idleTimeout)
        web.nginx.signal(SIGCONT)
        let response = try await transport.exchange(web.request("/small"), via: web.path())
        #expect(!response.facts.connection.isReused && response.facts.connection.httpVersion == "HTTP/2")
    }

    @Test func tellsTheVersion() async throws {
        let web = try await WebServer.start()
        let response = try await transport.exchange(web.request("/small"), via: web.path())
        #expect(response.facts.connection.httpVersion == "HTTP/2")
        _ = try await response.body.collect(upTo: .bytes(2))
    }

    @Test func isLeftOutWhereItIsNotWanted() async throws {
        let web = try await WebServer.start()
        var request = try web.request("/small")
        _ = try await get(request, web.path())
        request.protocols = .http1Only
        let response = try await transport.exchange(request, via: web.path())
        #expect(response.facts.connection.httpVersion == "HTTP/1.1")
        _ = try await response.body.collect(upTo: .bytes(2))
        let log = try await web.log(of: 2)
        #expect(log.map { $0[0] } == ["HTTP/2.0", "HTTP/1.1"] && log[0][1] != log[1][1])
    }

    @Test func bodiesStreamBothWaysAtOnce() async throws {
        let web = try await WebServer.start()
        let path = web.path()
        let (download, upload) = (try web.request("/large"), try web.request("/stored"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for turn in 0..<4 {
                group.addTask {
                    let body = try await get(download, path)
                    #expect(body == web.content)
                }
                group.addTask {
                    var request = upload
                    request.collectsUpTo = .bytes(0)
                    request.method = .put
                    request.url = try RequestURL("\(upload.url.absoluteText)\(turn)")
                    request.body = .once(length: nil) { writer in
                        for start in stride(from: 0, to: web.content.count, by: 70_000) {
                            try await writer.write(Array(web.content[start..<min(start + 70_000, web.content.count)]))
                        }
                    }
                    let status = try await transport.exchange(request, via: path).head.status
                    #expect(status == .created)
                    let stored = try web.stored("stored\(turn)")
                    #expect(stored == web.content)
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(try await web.log(of: 8).map { $0[1] }).count == 1)
    }

    /// What is streamed has a connection to itself, so that its reader may be as slow as it likes.
    @Test func aSlowReaderDelaysNoOtherLoad() async throws {
        let web = try await WebServer.start()
        let path = web.path()
        let slow = try await transport.exchange(web.request("/large"), via: path)
        for _ in 0..<20 {
            let small = try await get(web.request("/small"), path)
            #expect(small == Array("ok".utf8))
        }
        let large = try await get(web.request("/large"), path)
        #expect(large == web.content)
        let rest = try await slow.body.collect(upTo: .mebibytes(8))
        #expect(rest == web.content)
        let connections = Set(try await web.log(of: 22).map { $0[1] }).count
        #expect(connections == 2)
    }

    @Test func slowReadersHoldEachOtherUpInNothing() async throws {
        let web = try await WebServer.start()
        let path = web.path()
        var slow: [ExchangeResponse] = []
        for _ in 0..<6 { slow.append(try await transport.exchange(web.request("/large"), via: path)) }
        for response in slow.reversed() {
            let body = try await response.body.collect(upTo: .mebibytes(8))
            #expect(body == web.content)
        }
        let log = try await web.log(of: 6)
        #expect(log.allSatisfy { $0[0] == "HTTP/2.0" } && Set(log.map { $0[1] }).count == 6)
    }

    @Test func aStreamAfterAStreamUsesItsConnection() async throws {
        let web = try await WebServer.start()
        let path = web.path()
        for _ in 0..<3 {
            let body = try await transport.exchange(web.request("/large"), via: path).body
            let bytes = try await body.collect(upTo: .mebibytes(8))
            #expect(bytes == web.content)
        }
        let log = try await web.log(of: 3)
        #expect(log.allSatisfy { $0[0] == "HTTP/2.0" } && Set(log.map { $0[1] }).count == 1)
    }

    /// HTTP/1.1 shares nothing anyhow, so streams and others use the same connections.
    @Test func streamsUseTheConnectionsOfAllWithoutHTTP2() async throws {
        let web = try await WebServer.start(speaksHTTP2: false)
        let path = web.path()
        for _ in 0..<3 {
            let body = try await transport.exchange(web.request("/small"), via: path).body
            _ = try await body.collect(upTo: .bytes(2))
            _ = try await get(web.request("/small"), path)
        }
        let log = try await web.log(of: 6)
        #expect(log.allSatisfy { $0[0] == "HTTP/1.1" })
        // The first stream could not know.
        #expect(Set(log.map { $0[1] }).count == 2 && Set(log.dropFirst().map { $0[1] }).count == 1)
    }

    @Test func anAbandonedStreamLeavesTheOthersAlone() async throws {
        let web = try await WebServer.start()
        let path = web.path()
        let kept = try await transport.exchange(web.request("/large"), via: path)
        for _ in 0..<10 {
            let abandoned = try await transport.exchange(web.request("/large"), via: path)
            for try await _ in abandoned.body { break }
        }
        let rest = try await kept.body.collect(upTo: .mebibytes(8))
        #expect(rest == web.content)
        let small = try await get(web.request("/small"), path)
        #expect(small == Array("ok".utf8))
    }

    /// One that collects is never paused below its limit, so it may read late.
    @Test func collectorsThatReadLateDelayNoOtherLoad() async throws {
        let web = try await WebServer.start()
        let path = web.path()
        var request = try web.request("/large")
        request.collectsUpTo = .mebibytes(8)
        let late = try await transport.exchange(request, via: path)
        for _ in 0..<20 {
            let large = try await get(web.request("/large"), path)
            #expect(large == web.content)
        }
        let rest = try await late.body.collect(upTo: .mebibytes(8))
        #expect(rest == web.content)
        let connections = Set(try await web.log(of: 21).map { $0[1] }).count
        #expect(connections == 1)
    }

    /// The server ends a connection after ten requests (GOAWAY): nothing is lost, the next connection takes over.
    @Test func aConnectionThatTheServerEndsIsReplaced() async throws {
        let web = try await WebServer.start(requestsPerConnection: 10)
        let path = web.path()
        for _ in 0..<45 { #expect(try await get(web.request("/small"), path) == Array("ok".utf8)) }
        let log = try await web.log(of: 45)
        #expect(Set(log.map { $0[1] }).count >= 4)
        #expect(log.allSatisfy { $0[0] == "HTTP/2.0" })
    }

    @Test func itIsSpokenThroughTheRelayToo() async throws {
        let web = try await WebServer.start()
        let world = try World()
        let relay = try world.relay()
        var path = try world.path(relay)
        path.trust = .only([web.authority])
        for _ in 0..<3 { #expect(try await get(web.request("/large"), path) == web.content) }
        let log = try await web.log(of: 3)
        #expect(log.allSatisfy { $0[0] == "HTTP/2.0" } && relay.acceptedConnections == 1)
    }
}
