import Foundation
import Sallyport
import SallyportCore
import SallyportLoading
import SallyportURLLoading
import TestSupport
import Testing

/// Changes by an administrator while connections are open: a real gateway, its relay, and a running app.
@Suite(.timeLimit(.minutes(3))) struct AccessChangeTests {
    private static func echo() throws -> TestServer {
        try TestServer { connection in
            while case let chunk = connection.read(), !chunk.isEmpty { connection.write(chunk) }
        }
    }

    /// Answers with a head, and then sends nothing as long as the connection lives.
    private static func endless() throws -> TestServer {
        try TestServer { connection in
            _ = connection.read()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nfirst")
            connection.awaitEnd()
        }
    }

    private static func list(_ servers: [TestServer], _ route: String) -> (Site) async throws -> Void {
        { site in for server in servers { try await RunningApp.listing(server, route)(site) } }
    }

    private static func echoes(_ text: String, over socket: ByteStream) async throws -> Bool {
        try await socket.write(text)
        return try await socket.read() == Array(text.utf8)
    }

    private static func code(of error: LoadError?) -> ResultCode? {
        (error?.underlying as? AccessDenied)?.code
    }

    // MARK: Withdrawal

    @Test(arguments: ["direct", "relay"])
    func everyWithdrawalEndsSocketsHoweverOftenAccessCameBack(_ route: String) async throws {
        let server = try Self.echo()
        try await RunningApp.run(preparing: RunningApp.listing(server, route)) { app in
            let instance = try #require(try await app.site.instances().first).instance
            let orders: [(order: String, end: String?, code: ResultCode)] = [
                ("block", "unblock", .blocked), ("lock", "unlock", .remoteLockout), ("wipe", nil, .wiped),
            ]
            for (order, end, code) in orders {
                let socket = try await app.sallyport.sockets.connect(
                    to: "127.0.0.1:\(server.port)", isSecure: false)
                #expect(try await Self.echoes(order, over: socket))
                try await app.site.withdraw(order, instance)
                let error = await #expect(throws: LoadError.self) { try await socket.read() }
                #expect(error?.code == .withdrawn && Self.code(of: error) == code, "\(String(describing: error))")
                #expect(try await eventually { server.openConnections == 0 })
                guard let end else { continue }
                // The socket ends before the state is told.
                #expect(try await eventually { app.sallyport.authorization.state == .locked(code) })
                try await app.site.admin(end, instance)
                #expect(try await eventually { app.sallyport.authorization.state == .authorized })
            }
        }
    }

    @Test func aProcessThatOpenedOnAStoredBlockHearsOfTheNextWithdrawal() async throws {
        let server = try Self.echo()
        let site = try await Site.start()
        try await RunningApp.listing(server, "direct")(site)
        let store = try await site.activatedStore()
        let instance = try #require(try await site.instances().first).instance
        try await site.admin("block", instance)
        #expect(try await site.fetch("http://127.0.0.1:\(server.port)/", store).status == 77)
        let app = try await Sallyport.open(
            store: store, protectedBy: .keyFile("\(store)/key"), application: .init(Site.app, version: Site.version))
        #expect(app.authorization.state == .locked(.blocked))
        // The app has not been authorized in this process yet.
        #expect(app.protocols.register(DeafHandler.self) == .systemSessionOnly)
        let running = Task { try? await app.run() }
        try await site.admin("unblock", instance)
        #expect(try await eventually { app.authorization.state == .authorized })
        #expect(app.protocols.register(DeafHandler.self) == .secureSessions)
        let socket = try await app.sockets.connect(to: "127.0.0.1:\(server.port)", isSecure: false)
        #expect(try await Self.echoes("before", over: socket))
        try await site.withdraw("wipe", instance)
        let error = await #expect(throws: LoadError.self) { try await socket.read() }
        #expect(error?.code == .withdrawn && Self.code(of: error) == .wiped, "\(String(describing: error))")
        running.cancel()
        await running.value
        await app.shutdown()
    }

    @Test func whatAnAppThatStartsBlockedHasServesOnceTheBlockIsLifted() async throws {
        let server = try TestServer { $0.answerAll("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") }
        defer { server.stop() }
        let site = try await Site.start()
        try await RunningApp.listing(server, "direct")(site)
        let store = try await site.activatedStore()
        let instance = try #require(try await site.instances().first).instance
        try await site.admin("block", instance)
        let app = try await Sallyport.open(
            store: store, protectedBy: .keyFile("\(store)/key"), application: .init(Site.app, version: Site.version),
            door: DoorConfiguration(listeningOn: [.loopback()]))
        let error = await #expect(throws: AuthorizationError.self) { try await app.authorize() }
        #expect(error?.code == .withdrawn)
        let places = await app.door?.places
        let place = try #require(places?.first)
        let url = "http://127.0.0.1:\(server.port)/"
        #expect(try await Self.status(of: url, through: place) == "403")
        await #expect(throws: LoadError.self) { try await app.session.data(for: .get(url)) }
        #expect(server.acceptedConnections == 0)
        let running = Task { try? await app.run() }
        try await site.admin("unblock", instance)
        #expect(try await eventually { app.authorization.state == .authorized })
        #expect(try await Self.status(of: url, through: place) == "200")
        #expect(try await app.session.data(for: .get(url)).body == Array("ok".utf8))
        running.cancel()
        await running.value
        await app.shutdown()
    }

    private static func status(of url: String, through place: DoorPlace) async throws -> String {
        let words = ["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "--noproxy", "", "--proxy"]
        return try await ChildProcess("/usr/bin/env", words + ["http://\(place)", url]).outcome().output
    }

    @Test(arguments: [("block", -301), ("lock", -303), ("wipe", -302)])
    func connectThroughTheRelayEndsWithTheStatusOfAWithdrawal(_ order: String, code: Int) async throws {
        let server = try TestServer { $0.awaitEnd() }
        let site = try await Site.start()
        try await RunningApp.listing(server, "relay")(site)
        let store = try await site.activatedStore()
        let instance = try #require(try await site.instances().first).instance
        // A pipe that stays open, so that the program ends because of the withdrawal and not at the end of its input.
        let fifo = site.folder.file("fifo")
        #expect(mkfifo(fifo, 0o600) == 0)
        let program = "exec \(Programs.built("sallyport")) connect 127.0.0.1:\(server.port) --store \(store) --json"
        let child = try ChildProcess("/bin/bash", ["-c", "\(program) <> \(fifo)"])
        #expect(try await eventually(within: .seconds(20)) { server.openConnections == 1 })
        try await site.withdraw(order, instance)
        let outcome = try await child.outcome(within: .seconds(20))
        #expect(outcome.status == 77, "\(outcome.error)")
        #expect(try outcome.failure().code == code, "\(outcome.error)")
    }

    // MARK: Policy

    @Test(arguments: ["direct", "relay"])
    func aSocketWhoseServerIsDeniedEndsAndAnotherGoesOn(_ route: String) async throws {
        let (denied, kept) = (try Self.echo(), try Self.echo())
        try await RunningApp.run(preparing: Self.list([denied, kept], route)) { app in
            let sockets = app.sallyport.sockets
            let ending = try await sockets.connect(to: "127.0.0.1:\(denied.port)", isSecure: false)
            let staying = try await sockets.connect(to: "127.0.0.1:\(kept.port)", isSecure: false)
            #expect(try await Self.echoes("a", over: ending))
            #expect(try await Self.echoes("b", over: staying))
            try await RunningApp.listing(denied, "deny")(app.site)
            let error = await #expect(throws: LoadError.self) { try await ending.read() }
            #expect(error?.code == .refusedByPolicy, "\(String(describing: error))")
            #expect(try await eventually { denied.openConnections == 0 })
            #expect(try await Self.echoes("c", over: staying))
            staying.close()
        }
    }

    @Test(arguments: [("direct", "relay"), ("relay", "direct")])
    func aSocketEndsWhenItsServerIsReachedByAnotherWay(from old: String, to new: String) async throws {
        let server = try Self.echo()
        try await RunningApp.run(preparing: RunningApp.listing(server, old)) { app in
            let socket = try await app.sallyport.sockets.connect(to: "127.0.0.1:\(server.port)", isSecure: false)
            #expect(try await Self.echoes("a", over: socket))
            try await RunningApp.listing(server, new)(app.site)
            let error = await #expect(throws: LoadError.self) { try await socket.read() }
            #expect(error?.code == .refusedByPolicy, "\(String(describing: error))")
            let again = try await app.sallyport.sockets.connect(to: "127.0.0.1:\(server.port)", isSecure: false)
            #expect(try await Self.echoes("b", over: again))
            again.close()
        }
    }

    @Test(arguments: ["direct", "relay"])
    func aLoadAndAStreamEndWhenTheirServerIsDenied(_ route: String) async throws {
        let (server, echo) = (try Self.endless(), try Self.echo())
        try await RunningApp.run(preparing: Self.list([server, echo], route)) { app in
            let url = "http://127.0.0.1:\(server.port)/"
            let load = Task { () -> LoadError? in
                do {
                    _ = try await app.session.data(for: .get(url))
                    return nil
                } catch {
                    return error as? LoadError
                }
            }
            let stream = try await app.session.streamTask(to: echo.endpoint)
            try await stream.write(Array("a".utf8))
            #expect(try await stream.read() == Array("a".utf8))
            #expect(try await eventually { server.openConnections == 1 })
            try await Self.list([server, echo], "deny")(app.site)
            #expect(await load.value?.code == .refusedByPolicy)
            let error = await #expect(throws: LoadError.self) { try await stream.read() }
            #expect(error?.code == .refusedByPolicy)
        }
    }

    @Test func aRaisedFloorEndsWhatSpeaksALowerVersionOnly() async throws {
        let authority = try TestAuthority(name: "Corp")
        let identity = try authority.server(addresses: [#require(IPAddress("127.0.0.1"))])
        func server(_ version: TLSVersion) throws -> TestServer {
            var tls = TestTLS(identity)
            tls.version = version
            let settings = tls
            return try TestServer { connection in
                guard let tls = settings.accept(connection) else { return }
                while case let chunk = tls.read(), !chunk.isEmpty { tls.write(chunk) }
            }
        }
        let (old, new) = (try server(.tls12), try server(.tls13))
        try await RunningApp.run(preparing: Self.list([old, new], "relay")) { app in
            var configuration = SocketConfiguration()
            configuration.trust = try .systemAnd([authority.der])
            let sockets = app.sallyport.sockets
            let ending = try await sockets.connect(
                to: "127.0.0.1:\(old.port)", isSecure: true, configuration)
            let staying = try await sockets.connect(
                to: "127.0.0.1:\(new.port)", isSecure: true, configuration)
            #expect(try await Self.echoes("a", over: ending))
            #expect(try await Self.echoes("b", over: staying))
            try await app.site.admin("tls", "floor", "1.3")
            let error = await #expect(throws: LoadError.self) { try await ending.read() }
            #expect(error?.code == .refusedByPolicy, "\(String(describing: error))")
            #expect(try await Self.echoes("c", over: staying))
            staying.close()
        }
    }
}

private struct DeafHandler: ProtocolHandler {
    static func canHandle(_ request: LoadRequest) -> Bool { false }
    init() {}
    func load(_ request: LoadRequest, into response: ResponseWriter) async throws {}
}
