import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportURLLoading

/// A plugin that speaks HTTP over a stream of bytes, which it has opened by the policy.
@Suite(.timeLimit(.minutes(1))) struct StreamPeerTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Loads `inside:TARGET` from a server, which first hears a word of the plugin's own. All loads share one stream.
    private actor Handler: RequestHandler {
        private let server: Endpoint
        private let isSecure: Bool
        private var peer: LocalPeer?

        init(_ server: Endpoint, isSecure: Bool = false) {
            self.server = server
            self.isSecure = isSecure
        }

        nonisolated func canHandle(_ request: LoadRequest) -> Bool { request.url.scheme == "inside" }

        func load(_ request: LoadRequest, into response: ResponseWriter) async throws {
            let url = try RequestURL("http://inside.example\(request.url.path)")
            let answer = try await response.exchange(request, as: url, with: peer(response))
            try await response.forward(answer)
        }

        private func peer(_ response: ResponseWriter) async throws -> LocalPeer {
            if let peer { return peer }
            let stream = try await response.tunnels.open(RoutedTunnelRequest(to: server, isSecure: isSecure))
            try await stream.write("HELLO\n")
            let peer = LocalPeer.stream(stream)
            self.peer = peer
            return peer
        }

        func forget() { peer = nil }
    }

    private static var context: LoadContext {
        LoadContext(
            requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(30), idleTimeout: .seconds(30),
            principal: .instance)
    }

    private let world: World
    private let loading: URLLoadingSystem

    init() throws {
        world = try World()
        loading = world.loading()
    }

    private func session(_ handler: Handler) throws -> SecureSession {
        loading.makeSession(try world.configuration { $0.handlers = [handler] })
    }

    /// Runs `serve` behind the plugin's word.
    private func server(
        isSecure: Bool = false, _ serve: @escaping @Sendable (any TestStream) -> Void
    ) throws -> TestServer {
        try world.server(isSecure: isSecure) { client in
            guard client.readLine() == "HELLO" else { return }
            serve(client)
        }
    }

    @Test(arguments: Way.allCases, [false, true])
    func exchangesFollowEachOtherOverTheStream(_ way: Way, _ isSecure: Bool) async throws {
        let server = try server(isSecure: isSecure) { client in
            while let head = client.readHead() {
                let body = "\(head.split(separator: "\r\n").prefix(2))"
                _ = client.write(Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8))
            }
        }
        let relay = way == .relayed ? try world.relayed() : nil
        let session = try session(Handler(server.endpoint, isSecure: isSecure))
        for number in 1...3 {
            let response = try await session.bytes(for: .get("inside:/\(number)"))
            let body = try await response.body.collect(upTo: .kibibytes(1))
            #expect(String(decoding: body, as: UTF8.self) == #"["GET /\#(number) HTTP/1.1", "Host: inside.example"]"#)
            #expect(response.facts.hops.first?.connection.isReused == (number > 1))
        }
        #expect(server.acceptedConnections == 1 && relay?.acceptedConnections ?? 1 == 1)
        await loading.shutdown()
    }

    @Test func trailersArePassedOn() async throws {
        let server = try server { client in
            guard client.readHead() != nil else { return }
            let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n"
            _ = client.write(Array(answer.utf8))
        }
        let response = try await session(Handler(server.endpoint)).bytes(for: .get("inside:/"))
        #expect(try await response.body.collect(upTo: .bytes(2)) == Array("ok".utf8))
        #expect(HTTPField.Name("X-Sum").map { response.body.trailers?[$0] } == "7")
        await loading.shutdown()
    }

    @Test func largeBodiesGoBothWays() async throws {
        let content = Payload.bytes(3_000_000)
        let server = try server { client in
            guard client.readHead() != nil else { return }
            var body: [UInt8] = []
            while body.count < content.count, case let chunk = client.read(upTo: 65536), !chunk.isEmpty {
                body += chunk
            }
            _ = client.write(Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n".utf8))
            _ = client.write(body)
        }
        let request = LoadRequest(.post, try RequestURL("inside:/echo"), body: .bytes(content))
        let response = try await session(Handler(server.endpoint)).data(for: request)
        #expect(response.body == content)
        await loading.shutdown()
    }

    @Test func aPeerIsAskedToContinueBeforeTheBodyIfTheRequestSaysSo() async throws {
        let server = try server { client in
            guard let head = client.readHead(), head.contains("\r\nExpect: 100-continue\r\n") else { return }
            _ = client.write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
            guard client.read(upTo: 4) == Array("body".utf8) else { return }
            _ = client.write(Array(Self.answer.utf8))
        }
        var request = LoadRequest(.put, try RequestURL("inside:/file"), body: .bytes(Array("body".utf8)))
        request.options.continueTimeout = .seconds(50)
        #expect(try await session(Handler(server.endpoint)).data(for: request).body == Array("ok".utf8))
        await loading.shutdown()
    }

    @Test func exchangesAtOnceTakeTurns() async throws {
        let server = try server { client in
            while client.readHead() != nil { _ = client.write(Array(Self.answer.utf8)) }
        }
        let session = try session(Handler(server.endpoint))
        _ = try await session.data(for: .get("inside:/first"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let body = try await session.data(for: .get("inside:/\(number)")).body
                    #expect(body == Array("ok".utf8))
                }
            }
            try await group.waitForAll()
        }
        #expect(server.acceptedConnections == 1)
        await loading.shutdown()
    }

    /// Without TLS a server says by FIN that a body is whole; an end without that is none.
    @Test(arguments: [false, true]) func aBodyEndsWithTheStreamOnlyIfTheServerSaysSo(_ isReset: Bool) async throws {
        let server = try TestServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write("HTTP/1.1 200 OK\r\n\r\npart")
            guard isReset else { return }
            // Once it was read: what comes behind a reset is lost.
            _ = connection.read(upTo: 1)
            connection.reset()
        }
        let stream = try await loading.session.streamTask(to: server.endpoint)
        let writer = ResponseWriter(
            NoTarget(), url: try RequestURL("inside:/"), context: Self.context)
        let answer = try await writer.exchange(
            .get("inside:/"), as: RequestURL("http://inside.example/"), with: .stream(stream))
        #expect(try await answer.body.next() == Array("part".utf8))
        if isReset {
            try await stream.write("x")
            await #expect(throws: LoadError(.connectionLost, "")) { try await answer.body.next() }
        } else {
            #expect(try await answer.body.next() == nil)
        }
        await loading.shutdown()
    }

    @Test func theStreamsOwnFailureIsTold() async throws {
        let server = try TestServer { $0.awaitEnd() }
        let stream = try await loading.session.streamTask(to: server.endpoint)
        let writer = ResponseWriter(NoTarget(), url: try RequestURL("inside:/"), context: Self.context)
        let peer = LocalPeer.stream(stream)
        let task = Task { try await writer.exchange(.get("inside:/"), as: RequestURL("http://a.example/"), with: peer) }
        #expect(try await eventually { stream.sentBytes > 0 })
        world.gate.withdraw(.blocked)
        await #expect(throws: LoadError(.withdrawn, "")) { try await task.value }
        // Nor does it come back.
        await #expect(throws: LoadError(.withdrawn, "")) {
            try await writer.exchange(.get("inside:/"), as: RequestURL("http://a.example/"), with: peer)
        }
        await loading.shutdown()
    }

    @Test func aPeerThatIsReleasedClosesItsStream() async throws {
        let server = try server { client in
            while client.readHead() != nil { _ = client.write(Array(Self.answer.utf8)) }
        }
        let handler = Handler(try server.endpoint)
        _ = try await session(handler).data(for: .get("inside:/"))
        #expect(server.openConnections == 1)
        await handler.forget()
        #expect(try await eventually { server.openConnections == 0 })
        await loading.shutdown()
    }

    /// Takes no answer: the test has it from the exchange itself.
    private struct NoTarget: ResponseTarget {
        var http: LoadChain { LoadChain([]) }
        func begin(_ head: HTTPResponse, url: RequestURL, facts: LoadFacts) throws(LoadError) {}
        func write(_ bytes: [UInt8]) async throws(LoadError) {}
    }
}

extension TestStream {
    /// Text up to the end of a line; nil if the peer ends before.
    fileprivate func readLine() -> String? {
        var bytes: [UInt8] = []
        while bytes.last != UInt8(ascii: "\n") {
            let byte = read(upTo: 1)
            if byte.isEmpty { return nil }
            bytes += byte
        }
        return String(decoding: bytes.dropLast(), as: UTF8.self)
    }
}
