import Foundation
import Sallyport
import TestSupport
import Testing

/// `sallyport connect`, and sockets of an app, through a gateway that runs by itself, to real servers behind it.
@Suite(.timeLimit(.minutes(3))) struct ConnectCommandTests {
    private func connect(
        _ address: String, _ store: String, _ options: String..., input: String? = nil, limit: Duration = .seconds(60)
    ) async throws -> Outcome {
        try await ChildProcess(
            Programs.built("sallyport"), ["connect", address, "--store", store] + options, input: input
        ).outcome(within: limit)
    }

    /// An ssh session with what it carries both ways, its end, and its exit status.
    @Test func sshGoesThroughIt() async throws {
        let server = try await SSHServer.start(on: Intranet.address)
        let site = try await Site.start()
        let address = "\(Intranet.name):\(server.port)"
        try await site.admin("server", "add", address, "--app", Site.app, "--address", Intranet.address)
        let store = try await site.activatedStore()
        let proxy = "\(Programs.built("sallyport")) connect %h:%p --store \(store)"
        let whence = try await server.run("echo $SSH_CLIENT; exit 7", through: proxy, to: Intranet.name)
        #expect(whence.status == 7, "\(whence.error)")
        #expect(whence.output.hasPrefix("\(Intranet.egress) "), "\(whence.output)")
        let text = (0..<200_000).map { "\($0)\n" }.joined()
        let copied = try await server.run("cat; echo end", through: proxy, to: Intranet.name, input: text)
        #expect(copied.status == 0 && copied.output == text + "end\n", "\(copied.error)")
    }

    @Test(arguments: [false, true])
    func redisAnswersBehindTheRelay(_ isSecure: Bool) async throws {
        let folder = try TemporaryDirectory()
        let authority = try TestAuthority(name: "Corp")
        let redis = try await Redis.start(
            on: Intranet.address, in: folder, showing: authority.server(names: [Intranet.name]), of: authority)
        let site = try await Site.start()
        let address = "\(Intranet.name):\(isSecure ? redis.securePort : redis.port)"
        try await site.admin("server", "add", address, "--app", Site.app, "--address", Intranet.address)
        let store = try await site.activatedStore()
        let commands = "PING\r\nSET figure 42\r\nGET figure\r\nCLIENT LIST\r\nQUIT\r\n"
        let file = try folder.write(authority.pem, to: "ca.pem")
        let outcome =
            isSecure
            ? try await connect(address, store, "--tls", "--ca", file, input: commands)
            : try await connect(address, store, input: commands)
        #expect(outcome.status == 0, "\(outcome.error)")
        #expect(outcome.output.hasPrefix("+PONG\r\n+OK\r\n$2\r\n42\r\n"), "\(outcome.output)")
        #expect(outcome.output.contains("addr=\(Intranet.egress):") && outcome.output.hasSuffix("+OK\r\n"))
        guard isSecure else { return }
        let untrusting = try await connect(address, store, "--tls", "--json", input: "PING\r\n")
        #expect(untrusting.status == 76)
        #expect(try untrusting.failure().name == "serverNotTrusted")
    }

    /// The end of standard input is the server's end of file; what it sends then still comes.
    @Test func theEndOfInputIsTheServersEndOfFile() async throws {
        let server = try TestServer { connection in
            var count = 0
            while case let chunk = connection.read(), !chunk.isEmpty { count += chunk.count }
            connection.write("\(count)")
        }
        let site = try await Site.start()
        try await site.admin("server", "add", "127.0.0.1:\(server.port)", "--app", Site.app)
        let store = try await site.activatedStore()
        let input = String(repeating: "a", count: 3_000_000)
        let outcome = try await connect("127.0.0.1:\(server.port)", store, input: input)
        #expect(outcome.status == 0 && outcome.output == "3000000", "\(outcome.error)")
    }

    @Test func failuresHaveTheirExitStatus() async throws {
        let site = try await Site.start()
        let store = try await site.activatedStore()
        let denied = try await connect("payroll.corp.example:443", store, "--json")
        #expect(denied.status == 77)
        #expect(try denied.failure().name == "refusedByPolicy")
        let closed = try TestServer { _ in }
        let port = closed.port
        closed.stop()
        try await site.admin("server", "add", "127.0.0.1:\(port)", "--app", Site.app)
        let refused = try await connect("127.0.0.1:\(port)", store, "--json")
        #expect(refused.status == 69)
        #expect(try refused.failure().name == "relayRefused")
        for arguments in [["nonsense"], ["a:0"], ["a:1", "--alpn", "x"], ["a:1", "--idle-timeout", "0"]] {
            let usage = try await ChildProcess(
                Programs.built("sallyport"), ["connect"] + arguments + ["--store", store]
            ).outcome()
            #expect(usage.status == 64, "\(arguments)")
        }
        let help = try await sallyport("connect", "--help")
        #expect(help.status == 0 && help.output.contains("ProxyCommand"))
    }

    /// The reader of the output exits: the program ends successfully.
    @Test func aReaderThatLeavesEndsIt() async throws {
        let server = try TestServer { connection in
            while connection.write([UInt8](repeating: 65, count: 65536)) {}
        }
        let site = try await Site.start()
        try await site.admin("server", "add", "127.0.0.1:\(server.port)", "--app", Site.app)
        let store = try await site.activatedStore()
        let command = """
            "\(Programs.built("sallyport"))" connect 127.0.0.1:\(server.port) --store \(store) < <(sleep 20) | head -c 10
            echo "${PIPESTATUS[0]}"
            """
        let outcome = try await ChildProcess("/bin/bash", ["-c", command]).outcome(within: .seconds(15))
        #expect(outcome.output == "AAAAAAAAAA0\n", "\(outcome.error)")
        #expect(try await eventually { server.openConnections == 0 })
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
    func aSignalEndsItAtOnce(_ signal: Int32, _ status: Int32) async throws {
        let server = try TestServer { $0.awaitEnd() }
        let site = try await Site.start()
        try await site.admin("server", "add", "127.0.0.1:\(server.port)", "--app", Site.app)
        let store = try await site.activatedStore()
        let fifo = site.folder.file("fifo")
        #expect(mkfifo(fifo, 0o600) == 0)
        let script = "exec \(Programs.built("sallyport")) connect 127.0.0.1:\(server.port) --store \(store) <> \(fifo)"
        let child = try ChildProcess("/bin/bash", ["-c", script])
        #expect(try await eventually(within: .seconds(20)) { server.openConnections == 1 })
        child.signal(signal)
        #expect(try await child.outcome().status == status)
        #expect(try await eventually { server.openConnections == 0 })
    }

    // MARK: The app's sockets

    /// `Examples/Chat`, with a server that says everything back.
    @Test func theExampleOfAChatTalks() async throws {
        let server = try TestServer { connection in
            connection.write("* welcome\n")
            while case let chunk = connection.read(), !chunk.isEmpty { connection.write(chunk) }
        }
        let site = try await Site.start()
        try await site.admin("server", "add", "127.0.0.1:\(server.port)", "--app", Site.app)
        let store = try await site.activatedStore()
        let chat = try ChildProcess(
            Programs.built("Chat"), [store, "127.0.0.1", "\(server.port)", "ann"], input: "hello\nbye\n")
        let outcome = try await chat.outcome()
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.error)")
        #expect(outcome.output.contains("* connected by relay") && outcome.output.contains("* welcome\n"))
        #expect(outcome.output.contains("ann: hello\nann: bye\n") && outcome.output.hasSuffix("* left\n"))
        let strangers = try TestServer { _ in }
        let refused = try await ChildProcess(
            Programs.built("Chat"), [store, "127.0.0.1", "\(strangers.port)", "ann"]
        ).outcome()
        #expect(refused.status == 1 && refused.output.contains("refusedByPolicy"), "\(refused.output)")
    }

    @Test func aWithdrawalEndsTheSocketsOfAnAppThatRuns() async throws {
        let server = try TestServer { connection in
            while case let chunk = connection.read(), !chunk.isEmpty { connection.write(chunk) }
        }
        let site = try await Site.start()
        try await site.admin("server", "add", "127.0.0.1:\(server.port)", "--app", Site.app)
        let store = try await site.activatedStore()
        let app = try await Sallyport.open(
            store: store, protectedBy: .keyFile("\(store)/key"), application: .init(Site.app, version: Site.version))
        try await app.authorize()
        let running = Task { await app.authorization.run() }
        let socket = try await app.sockets.connect(to: "127.0.0.1:\(server.port)", isSecure: false)
        try await socket.write("before")
        #expect(try await socket.read() == Array("before".utf8))
        app.disable()
        try await socket.write("after disable()")
        #expect(try await socket.read() == Array("after disable()".utf8))
        let other = try await app.sockets.connect(to: "127.0.0.1:\(server.port)", isSecure: false)
        other.close()
        let instance = try #require(try await site.instances().first).instance
        try await site.admin("block", instance)
        let error = await #expect(throws: LoadError.self) { try await socket.read() }
        #expect(error?.code == .withdrawn, "\(String(describing: error))")
        await #expect(throws: LoadError(.withdrawn, "")) {
            try await app.sockets.connect(to: "127.0.0.1:\(server.port)", isSecure: false)
        }
        #expect(try await eventually { server.openConnections == 0 })
        running.cancel()
        await running.value
        await app.shutdown()
    }
}
