import Foundation
import Sallyport
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

/// Loads from the app's own servers, in their order and with fail-over: as a real gateway lists them.
@Suite(.timeLimit(.minutes(2))) struct ApplicationServerTests {
    private static func web(_ text: String) throws -> TestServer {
        try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)") }
    }

    /// Reads the request, and ends the connection without an answer.
    private static func breaking() throws -> TestServer {
        try TestServer { connection in _ = connection.readHead() }
    }

    private static func run(
        _ servers: [(port: UInt16, priority: Int)], _ body: (RunningApp) async throws -> Void
    ) async throws {
        let prepare: (Site) async throws -> Void = { site in
            let file = try site.folder.write(
                "servers:\n"
                    + servers.map { port, priority in
                        "- {server: '127.0.0.1:\(port)', app: \(Site.app), priority: \(priority), route: direct}\n"
                    }.joined(), to: "servers.yaml")
            try await site.admin("server", "remove", "\(Intranet.name):\(try await listedPort(site))")
            try await site.admin("apply", "-f", file)
        }
        try await RunningApp.run(preparing: prepare, body)
    }

    private static func listedPort(_ site: Site) async throws -> String {
        struct Entry: Decodable { var endpoint: String }
        let entries = try await site.admin("server", "list", "--json").json([Entry].self)
        return try #require(entries.first?.endpoint.split(separator: ":").last.map(String.init))
    }

    private static func plain(_ method: PathRequestMethod = .get, body: RequestBody? = nil) -> PathRequest {
        PathRequest(method == .get ? .get : .post, "/", body: body, isSecure: false)
    }
    private enum PathRequestMethod { case get, post }

    private static func text(_ app: RunningApp, _ request: PathRequest = plain()) async throws -> String {
        let answer = try await app.session.data(for: request, from: .applicationServers)
        return String(decoding: answer.body, as: UTF8.self)
    }

    @Test func thePathOfAServerInsideIsLoadedOverTheRelay() async throws {
        try await RunningApp.run { app in
            let answer = try await app.session.data(for: "/report.txt", from: .applicationServers)
            #expect(String(decoding: answer.body, as: UTF8.self) == "The figures of today.\n")
            #expect("\(answer.url)" == "\(app.intranet.url)/report.txt" && answer.facts.decision?.route == .relay)
            var body = try await app.session.bytes(for: PathRequest(.get, "/report.txt"), from: .applicationServers)
                .body
                .makeAsyncIterator()
            #expect(try await body.next()?.isEmpty == false)
        }
    }

    @Test func thoseOfThePriorityOneComeFirst() async throws {
        let (first, second) = (try Self.web("first"), try Self.web("second"))
        try await Self.run([(second.port, 2), (first.port, 1)]) { app in
            for _ in 0..<8 {
                let text = try await Self.text(app)
                #expect(text == "first")
            }
            #expect(second.acceptedConnections == 0)
            first.stop()
            let text = try await Self.text(app)
            #expect(text == "second")
        }
    }

    @Test func amongEqualsOneIsTakenAtRandom() async throws {
        let (one, other) = (try Self.web("one"), try Self.web("other"))
        try await Self.run([(one.port, 1), (other.port, 1)]) { app in
            var seen: Set<String> = []
            // Of 60 loads all have the same server once in 2^59 runs.
            for _ in 0..<60 { seen.insert(try await Self.text(app)) }
            #expect(seen == ["one", "other"])
        }
    }

    @Test func aServerThatCannotBeConnectedGivesWayWhateverTheMethod() async throws {
        let server = try Self.web("there")
        try await Self.run([(LoopbackPort.free(), 1), (LoopbackPort.free(), 1), (server.port, 2)]) { app in
            let there = try await Self.text(app)
            #expect(there == "there")
            let order = try await Self.text(app, Self.plain(.post, body: .text("order")))
            #expect(order == "there")
            // The body could not be read again.
            let once = RequestBody.once { writer throws in try await writer.write(Array("order".utf8)) }
            let error = await #expect(throws: LoadError.self) {
                try await Self.text(app, Self.plain(.post, body: once))
            }
            #expect(error?.code == .cannotConnect)
        }
    }

    @Test func aRequestThatMayHaveBeenProcessedIsRepeatedOnlyIfItIsIdempotent() async throws {
        let (broken, server) = (try Self.breaking(), try Self.web("there"))
        try await Self.run([(broken.port, 1), (server.port, 2)]) { app in
            let there = try await Self.text(app)
            #expect(there == "there")
            let before = server.acceptedConnections
            let error = await #expect(throws: LoadError.self) {
                try await Self.text(app, Self.plain(.post, body: .text("order")))
            }
            #expect(error?.code == .connectionLost, "\(String(describing: error))")
            #expect(server.acceptedConnections == before)
        }
    }

    @Test func aRedirectToADeadServerRepeatsNoOrder() async throws {
        let dead = LoopbackPort.free()
        let redirecting = try TestServer { connection in
            let target = "http://127.0.0.1:\(dead)/"
            connection.answerAll("HTTP/1.1 307 Elsewhere\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n")
        }
        let server = try Self.web("there")
        // The dead one is last: it is listed only so that the policy lets it be tried.
        try await Self.run([(redirecting.port, 1), (server.port, 2), (dead, 3)]) { app in
            let error = await #expect(throws: LoadError.self) {
                try await Self.text(app, Self.plain(.post, body: .text("order")))
            }
            #expect(error?.code == .cannotConnect && server.acceptedConnections == 0)
            let there = try await Self.text(app)
            #expect(there == "there")
        }
    }

    @Test func anyStatusIsAnAnswer() async throws {
        let busy = try TestServer { $0.answerAll("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n") }
        let server = try Self.web("there")
        try await Self.run([(busy.port, 1), (server.port, 2)]) { app in
            let answer = try await app.session.data(for: Self.plain(), from: .applicationServers)
            #expect(answer.head.status == .serviceUnavailable && server.acceptedConnections == 0)
        }
    }

    @Test func ifNoneCanBeConnectedTheLastErrorIsThrown() async throws {
        try await Self.run([(LoopbackPort.free(), 1), (LoopbackPort.free(), 2)]) { app in
            let error = await #expect(throws: LoadError.self) { try await Self.text(app) }
            #expect(error?.code == .cannotConnect)
        }
        try await Self.run([]) { app in
            let error = await #expect(throws: LoadError.self) { try await Self.text(app) }
            #expect(error?.code == .cannotFindHost && error?.step == .routing)
        }
    }

    @Test func whatIsNotOfTheServerIsNotTriedElsewhere() async throws {
        let (slow, server) = (try TestServer { $0.awaitEnd() }, try Self.web("there"))
        try await Self.run([(slow.port, 1), (server.port, 2)]) { app in
            var request = Self.plain()
            request.options.resourceTimeout = .milliseconds(300)
            let late = request
            let error = await #expect(throws: LoadError.self) { try await Self.text(app, late) }
            #expect(error?.code == .resourceTimeout && server.acceptedConnections == 0)
            request.path = "no/slash"
            let invalid = request
            let refused = await #expect(throws: LoadError.self) { try await Self.text(app, invalid) }
            #expect(refused?.code == .invalidRequest)
            let instance = try #require(try await app.site.instances().first).instance
            try await app.site.admin("block", instance)
            #expect(try await eventually { app.sallyport.authorization.state == .locked(.blocked) })
            let withdrawn = await #expect(throws: LoadError.self) { try await Self.text(app) }
            #expect(withdrawn?.code == .withdrawn || withdrawn?.code == .disabled)
        }
    }
}
