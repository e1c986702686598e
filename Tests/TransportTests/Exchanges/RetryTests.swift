import Glibc
import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing
import TransportTestSupport

/// What is sent again where a connection that was used before ends, and what never is (RFC 9110 §9.2.2).
@Suite(.timeLimit(.minutes(1)), .onBothEnginesAsUsual)
struct RetryTests {
    private let transport = Transport()
    private let path = ConnectionPath()

    /// Answers the first request of the first connection, takes the next one in and closes without a word. Later
    /// connections are well served. Writes down what came: `METHOD BODY`.
    private func server(_ seen: Lock<[String]>, dropping dropped: Int = 1) throws -> TestServer {
        let connections = Lock(0)
        return try TestServer { connection in
            let number = connections.withLock { count in
                count += 1
                return count
            }
            var requests = 0
            while let head = connection.readHead() {
                requests += 1
                let length =
                    head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                    .flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
                var body: [UInt8] = []
                while body.count < length, case let chunk = connection.read(), !chunk.isEmpty { body += chunk }
                seen.withLock { $0.append("\(head.prefix { $0 != " " }) \(String(decoding: body, as: UTF8.self))") }
                if number <= dropped, requests == 2 || number > 1 { return }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
    }

    private func warmUp(_ server: TestServer) async throws {
        let response = try await transport.exchange(.init(.get, server.url()), via: path)
        _ = try await response.body.collect(upTo: .bytes(2))
    }

    @Test(arguments: [HTTPRequest.Method.get, .head, .options, .put, .delete])
    func idempotentMethodsAreSentAgain(_ method: HTTPRequest.Method) async throws {
        let seen = Lock<[String]>([])
        let server = try server(seen)
        try await warmUp(server)
        let response = try await transport.exchange(.init(method, server.url()), via: path)
        #expect(response.head.status == .ok)
        #expect(response.facts.retries == 1 && !response.facts.connection.isReused)
        #expect(seen.withLock { $0 } == ["GET ", "\(method) ", "\(method) "])
        #expect(server.acceptedConnections == 2)
    }

    private static let pause = Duration.milliseconds(500)

    /// Takes the second request of the first connection in, and closes it after a while.
    private func slowlyDroppingServer() throws -> TestServer {
        let connections = Lock(0)
        return try TestServer { connection in
            let isFirst = connections.withLock { count in
                count += 1
                return count == 1
            }
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            guard isFirst, connection.readHead() != nil else { return connection.awaitEnd() }
            connection.pause(Self.pause)
        }
    }

    /// It had its place among the origin's connections all the time.
    @Test func whatIsSentAgainHasNotWaitedForAConnection() async throws {
        let server = try slowlyDroppingServer()
        try await warmUp(server)
        let start = ContinuousClock.now
        let response = try await transport.exchange(.init(.get, server.url()), via: path)
        #expect(response.facts.retries == 1 && ContinuousClock.now - start >= Self.pause)
        #expect(response.facts.timing.queue < Self.pause)
    }

    @Test func theTimeOfASendingThatWasInVainBelongsToNoPhase() async throws {
        let server = try slowlyDroppingServer()
        try await warmUp(server)
        let reports = Lock<[ExchangeReport]>([])
        var request = try ExchangeRequest(.get, server.url())
        request.reporter = { report in reports.withLock { $0.append(report) } }
        let response = try await transport.exchange(request, via: path)
        _ = try await response.body.collect(upTo: .bytes(2))
        #expect(try await eventually { reports.withLock { $0.count } == 1 })
        let report = try #require(reports.withLock { $0.first })
        let (dialed, timing) = (report.dialed, report.timing)
        #expect(dialed >= .milliseconds(400) && timing.connect >= dialed && timing.firstByte >= timing.requestSent)
        let phases = LoadRecord.Phases(report)
        #expect(phases.connect != nil && phases.wait != nil && phases.response != nil)
        let spent = phases.named.reduce(0) { $0 + $1.time }
        #expect(spent <= report.end.seconds - 0.4, "\(phases)")
    }

    @Test(
        arguments: [HTTPRequest.Method.post, .patch],
        [nil, RequestBody.text("paid"), .restartable { try await $0.write(Array("paid".utf8)) }])
    func othersAreNeverSentTwice(_ method: HTTPRequest.Method, _ body: RequestBody?) async throws {
        let seen = Lock<[String]>([])
        let server = try server(seen)
        try await warmUp(server)
        let error = await #expect(throws: LoadError.self) {
            _ = try await transport.exchange(.init(method, server.url(), body: body), via: path)
        }
        #expect(error?.code == .connectionLost, "\(String(describing: error))")
        #expect(seen.withLock { $0.count { $0.hasPrefix("\(method)") } } == 1)
        // Nor later.
        try await Task.sleep(for: .milliseconds(50))
        #expect(seen.withLock { $0.count } == 2)
    }

    @Test(arguments: [RequestBody.text("whole"), .restartable(length: 5) { try await $0.write(Array("whole".utf8)) }])
    func aBodyThatCanBeHadAgainIsSentWhole(_ body: RequestBody) async throws {
        let seen = Lock<[String]>([])
        let server = try server(seen)
        try await warmUp(server)
        let response = try await transport.exchange(.init(.put, server.url(), body: body), via: path)
        #expect(response.facts.retries == 1)
        #expect(seen.withLock { $0 } == ["GET ", "PUT whole", "PUT whole"])
    }

    @Test func aBodyThatCanBeReadOnceIsNotSentAgain() async throws {
        let seen = Lock<[String]>([])
        let server = try server(seen)
        try await warmUp(server)
        let body = RequestBody.once(length: 5) { try await $0.write(Array("whole".utf8)) }
        let error = await #expect(throws: LoadError.self) {
            _ = try await transport.exchange(.init(.put, server.url(), body: body), via: path)
        }
        #expect(error?.code == .connectionLost)
        #expect(seen.withLock { $0 } == ["GET ", "PUT whole"])
    }

    @Test func aNewConnectionThatEndsIsNotTriedAgain() async throws {
        let server = try TestServer { _ = $0.readHead() }
        let error = await #expect(throws: LoadError.self) {
            _ = try await transport.exchange(.init(.get, server.url()), via: path)
        }
        #expect(error?.code == .connectionLost && server.acceptedConnections == 1)
    }

    @Test func anAnswerThatHasBegunIsNotTriedAgain() async throws {
        let requests = Lock(0)
        let server = try TestServer { connection in
            while connection.readHead() != nil {
                let number = requests.withLock { count in
                    count += 1
                    return count
                }
                guard number != 2 else {
                    connection.write("HTTP/1.1 200 OK\r\nX-")
                    return
                }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        try await warmUp(server)
        let error = await #expect(throws: LoadError.self) {
            _ = try await transport.exchange(.init(.get, server.url()), via: path)
        }
        #expect(error?.code == .connectionLost, "\(String(describing: error))")
        #expect(requests.withLock { $0 } == 2)
    }

    /// nginx ends its connections with GOAWAY; what comes too late is sent on a new one.
    @Test func requestsThatAServerDidNotProcessAreSentAgain() async throws {
        let web = try await WebServer.start(requestsPerConnection: 5)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<60 {
                group.addTask {
                    var request = try web.request("/small")
                    request.collectsUpTo = .bytes(2)
                    let response = try await transport.exchange(request, via: web.path())
                    #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
                }
            }
            try await group.waitForAll()
        }
    }
}
