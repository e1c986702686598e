import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportPluginConformance
import SallyportTransport
import SallyportURLLoading
import SallyportUnixSocket
import TestSupport
import Testing

@Suite(.serialized, .timeLimit(.minutes(2))) struct UnixSocketHandlerTests {
    private typealias Handler = UnixSocketHandler<AllowedInTests>

    private let daemon: Daemon
    private let session: SecureSession

    init() async throws {
        daemon = try await Daemon()
        AllowedInTests.allow(daemon.socket("one"))
        AllowedInTests.allow(daemon.socket("two"))
        let loading = URLLoadingSystem(gate: ClosedGate())
        loading.protocols.register(Handler.self)
        session = loading.session
    }

    private func text(_ target: String, at socket: String = "one") async throws -> String {
        let body = try await session.data(for: LoadRequest(.get, daemon.url(target, at: socket))).body
        return String(decoding: body, as: UTF8.self)
    }

    @Test func aDaemonIsAskedOverItsSocket() async throws {
        #expect(try await text("/name?a=b") == "one localhost GET /name?a=b")
        #expect(try await text("/", at: "two") == "two")
    }

    @Test func aLargeBodyComesWhole() async throws {
        let answer = try await session.data(for: LoadRequest(.get, daemon.url("/file")))
        let (body, response) = (answer.body, answer.head)
        #expect(body == Daemon.file)
        #expect(response.headerFields[.contentLength] == "\(Daemon.file.count)")
    }

    @Test func methodAndBodyAreSent() async throws {
        let body = [UInt8](repeating: 7, count: 200_000)
        let answer = try await session.upload(for: LoadRequest(.post, daemon.url("/echo")), from: .bytes(body))
        #expect(answer.body == body)
        let head = try await session.data(for: LoadRequest(.head, daemon.url("/name")))
        #expect(head.head.status == .ok && head.body.isEmpty)
    }

    @Test func anyStatusIsAnAnswerAndRedirectsAreHandedOver() async throws {
        let missing = try await session.data(for: LoadRequest(.get, daemon.url("/missing")))
        #expect(missing.head.status == .notFound)
        let moved = try await session.data(for: LoadRequest(.get, daemon.url("/moved")))
        #expect(moved.head.status == .found)
    }

    // MARK: What may be reached

    private enum NothingAllowed: UnixSocketAccess { static let allowedSockets: Set<String> = [] }

    @Test func aSocketThatIsNotListedIsRefused() async throws {
        var configuration = SessionConfiguration()
        configuration.protocolClasses = [UnixSocketHandler<NothingAllowed>.self]
        let session = URLLoadingSystem(gate: ClosedGate()).makeSession(configuration)
        let request = LoadRequest(.get, try daemon.url("/name"))
        await #expect(throws: LoadError(.refusedByPolicy, "")) { try await session.data(for: request) }
    }

    @Test func anotherSpellingOfAListedSocketIsRefused() async throws {
        let name = daemon.socket().dropFirst().replacing("/", with: "%2F")
        for spelling in ["%2F.%2F\(name)", "%2F%2F\(name)", "%2Ftmp%2F..%2F\(name)"] {
            await #expect(throws: LoadError(.invalidRequest, "")) {
                try await session.data(for: .get("http+unix://\(spelling)/name"))
            }
        }
    }

    /// Both paths are equal as strings, but two files.
    @Test func aListedSocketInOtherCharactersIsRefused() async throws {
        AllowedInTests.allow("/run/caf\u{e9}.sock")
        let composed = try UnixSocketURL(socket: "/run/caf\u{e9}.sock", target: "/").url
        await #expect(throws: LoadError(.cannotConnect, "")) {
            try await session.data(for: LoadRequest(.get, composed))
        }
        let decomposed = try UnixSocketURL(socket: "/run/cafe\u{301}.sock", target: "/").url
        await #expect(throws: LoadError(.refusedByPolicy, "")) {
            try await session.data(for: LoadRequest(.get, decomposed))
        }
    }

    @Test func aSocketWithoutAListenerIsACannotConnect() async throws {
        AllowedInTests.allow(daemon.socket("nobody"))
        let request = LoadRequest(.get, try daemon.url("/", at: "nobody"))
        await #expect(throws: LoadError(.cannotConnect, "")) { try await session.data(for: request) }
        // A file that is no socket.
        AllowedInTests.allow(daemon.nginx.folder.file("file"))
        let file = try UnixSocketURL(socket: daemon.nginx.folder.file("file"), target: "/").url
        await #expect(throws: LoadError(.cannotConnect, "")) { try await session.data(for: LoadRequest(.get, file)) }
    }

    // MARK: Connections

    @Test func connectionsAreKeptForTheSameSocketAndPrincipalAlone() async throws {
        func isReused(_ socket: String, _ principal: String) async throws -> Bool {
            var request = LoadRequest(.get, try daemon.url("/name", at: socket))
            request.options.principal = Principal(principal)
            let response = try await session.bytes(for: request)
            _ = try await response.body.collect(upTo: .kibibytes(1))
            return try #require(response.facts.hops.first).connection.isReused
        }
        #expect(try await !isReused("one", "a"))
        #expect(try await isReused("one", "a"))
        #expect(try await !isReused("one", "b"))
        #expect(try await !isReused("two", "a"))
        #expect(try await isReused("one", "b"))
    }

    @Test func aPathWithAndOneWithoutASocketShareNothing() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntcp") }
        let transport = Transport()
        let url = try RequestURL("http://localhost:\(server.port)/name")
        func body(_ path: ConnectionPath) async throws -> String {
            let body = try await transport.exchange(ExchangeRequest(.get, url), via: path).body
            return String(decoding: try await body.collect(upTo: .kibibytes(1)), as: UTF8.self)
        }
        for _ in 0..<2 {
            #expect(try await body(ConnectionPath(socket: daemon.socket())).hasPrefix("one"))
            #expect(try await body(ConnectionPath()) == "tcp")
        }
        #expect(server.acceptedConnections == 1)
        await transport.shutdown()
    }

    @Test func aSocketBehindARelayIsRefused() async throws {
        let relay = RelayAccess(
            cluster: "main", relays: [.init(try Endpoint("127.0.0.1:1"), priority: 1)], authorities: [],
            identity: ClientIdentity(certificates: [], privateKey: Redacted("")))
        let transport = Transport()
        let path = ConnectionPath(relay: relay, socket: daemon.socket())
        let request = ExchangeRequest(.get, try RequestURL("http://localhost/"))
        await #expect(throws: LoadError(.invalidRequest, "")) { _ = try await transport.exchange(request, via: path) }
        await transport.shutdown()
    }

    @Test func theExampleLoadsFromBothHandlers() async throws {
        let program = try ChildProcess(Programs.built("Plugins"), [daemon.socket(), "/name"])
        let outcome = try await program.outcome(within: .seconds(20))
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(
            outcome.output == """
                data: 200, 5 bytes: hello
                http+unix: 200, 23 bytes: one localhost GET /name
                a socket that is not listed: refusedByPolicy

                """)
    }

    @Test func theExampleRecordsAndPlays() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        let folder = try TemporaryDirectory()
        let arguments = [daemon.socket(), "/name", "\(try server.url())", folder.file("example.json")]
        let first = try await ChildProcess(Programs.built("Plugins"), arguments).outcome(within: .seconds(20))
        #expect(first.status == 0 && first.output.hasSuffix("recorded: 200, 2 bytes\n"), "\(first.error)")
        server.stop()
        let second = try await ChildProcess(Programs.built("Plugins"), arguments).outcome(within: .seconds(20))
        #expect(second.status == 0 && second.output.hasSuffix("played: 200, 2 bytes\n"), "\(second.error)")
    }

    @Test func theHandlerConforms() async throws {
        let upload = [UInt8](repeating: 7, count: 50_000)
        let missing = daemon.socket("missing")
        AllowedInTests.allow(missing)
        let report = await PluginConformance(
            Handler.self,
            samples: [
                .answers("text", LoadRequest(.get, try daemon.url("/name"))),
                .answers("file", LoadRequest(.get, try daemon.url("/file")), body: Daemon.file),
                .answers("head", LoadRequest(.head, try daemon.url("/file")), body: []),
                .answers("not found", LoadRequest(.get, try daemon.url("/missing")), status: .notFound),
                .answers("upload", LoadRequest(.post, try daemon.url("/echo"), body: .bytes(upload)), body: upload),
                .holdsBack("held", LoadRequest(.get, try daemon.url("/held")), after: .bytes(1)) { [daemon] in
                    daemon.release()
                },
                .fails("not listed", try .get("http+unix://%2Frun%2Fother.sock/"), with: .refusedByPolicy),
                .fails("no socket", try .get("http+unix://relative/"), with: .invalidRequest),
                .fails(
                    "nobody", LoadRequest(.get, try UnixSocketURL(socket: missing, target: "/").url),
                    with: .cannotConnect),
            ]
        ).run()
        #expect(report.violations.isEmpty, "\(report)")
        #expect(report.notTried.isEmpty)
    }
}
