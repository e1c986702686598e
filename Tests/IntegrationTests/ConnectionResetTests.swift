import Glibc
import Sallyport
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

/// An app that runs, its link, its names, what it can find out, and all of its connections closed at once.
@Suite(.timeLimit(.minutes(3))) struct ConnectionResetTests {
    @Test func requestsInFlightEndAndLaterOnesConnectAnew() async throws {
        try await RunningApp.run { (app: RunningApp) async throws -> Void in
            #expect(app.sallyport.reachability.status == .reachable(via: .loopback))
            let slow = try await app.session.bytes(for: .get("\(app.intranet.url)/slow"))
            var body = slow.body.makeAsyncIterator()
            _ = try await body.next()
            // Another connection idles in the pool.
            _ = try await app.session.data(for: .get("\(app.intranet.url)/report.txt"), upTo: .kibibytes(4))
            #expect(app.sallyport.diagnostics.forceResetAllConnections())
            await #expect(throws: LoadError(.connectionLost, "")) { while try await body.next() != nil {} }
            let answer = try await app.session.data(
                for: .get("\(app.intranet.url)/report.txt"), upTo: .kibibytes(4))
            #expect(answer.head.status.code == 200)
            // The event stream is reopened before it is reported as lost.
            try await Task.sleep(for: .seconds(4))
            #expect(app.sallyport.reachability.isPushChannelAvailable)
            #expect(app.sallyport.reachability.status == .reachable(via: .loopback))
        }
    }

    @Test func namesAndServersAreSeenFromInside() async throws {
        try await RunningApp.run { (app: RunningApp) async throws -> Void in
            let answer = try await app.sallyport.names.lookUp(Intranet.name)
            #expect(answer.addresses.map(\.description) == [Intranet.address])
            await #expect(throws: NameError(.hostNotListed, "")) {
                _ = try await app.sallyport.names.lookUp("payroll.corp.example")
            }
            let diagnostics = app.sallyport.diagnostics
            let inside = try await diagnostics.reach(Intranet.name, port: app.intranet.port, isSecure: false)
            #expect(inside.code == .noError && inside.attempts.count == 1 && inside.decision?.route == .relay)
            let untrusted = try await diagnostics.reach(Intranet.name, port: app.intranet.port)
            #expect(untrusted.code == .notTrusted)
            let denied = try await diagnostics.reach("payroll.corp.example", port: 443)
            #expect(denied.code == .refused && denied.attempts.isEmpty)
            #expect(await diagnostics.reachConsole().code == .noError)
            let settings = await diagnostics.currentSettings()
            #expect(settings.contains("server \(Intranet.name):\(app.intranet.port): relay"))
            #expect(settings.contains("link: reachable (loopback), network available, push channel available"))
            #expect(!settings.contains("PRIVATE"))
        }
    }

    /// It waits for the relay, which is not running, and continues when the gateway is back; a reset meanwhile does not
    /// affect it.
    @Test func aLoadThatWaitsGoesOnWhenTheGatewayReturns() async throws {
        try await RunningApp.run { (app: RunningApp) async throws -> Void in
            try await app.site.stopGateway(by: SIGKILL)
            #expect(try await eventually { app.sallyport.reachability.status == .notReachable })
            var request = try LoadRequest.get("\(app.intranet.url)/report.txt")
            request.options.waitsForConnectivity = true
            let (asked, delegate) = (request, WaitingDelegate())
            let load = Task { try await app.session.data(for: asked, upTo: .kibibytes(4), delegate: delegate) }
            // A load that is just connecting ends like any other.
            #expect(try await eventually(within: .seconds(30)) { delegate.isWaiting })
            app.sallyport.diagnostics.forceResetAllConnections()
            try await app.site.startGateway()
            #expect(try await eventually { app.sallyport.reachability.status.isReachable })
            let answer = try await load.value
            #expect(answer.head.status.code == 200)
            #expect(String(decoding: answer.body, as: UTF8.self) == "The figures of today.\n")
        }
    }

    @Test func withoutItsGatewayTheConsoleIsOutOfReach() async throws {
        try await RunningApp.run { (app: RunningApp) async throws -> Void in
            try await app.site.stopGateway(by: SIGKILL)
            #expect(try await eventually { app.sallyport.reachability.status == .notReachable })
            #expect(app.sallyport.reachability.infrastructure == .unreachable)
            // A machine that has no network but loopback says that first.
            let code = await app.sallyport.diagnostics.reachConsole().code
            #expect(code == (app.sallyport.reachability.isNetworkAvailable ? .notReachable : .noNetwork))
            await #expect(throws: NameError(.networkError, "")) {
                _ = try await app.sallyport.names.lookUp(Intranet.name)
            }
        }
    }

    // MARK: Sockets

    /// Tells what it is told, and consumes what comes.
    private final class Listener: SocketDelegate {
        let told = Lock<(callbacks: [String], errors: [SocketError])>(([], []))

        func onOpen(_ socket: SecureSocket) { note("onOpen") }
        func onRead(_ socket: SecureSocket) async { note("onRead \(await socket.readStream.unreadText() ?? "")") }
        func onClose(_ socket: SecureSocket) { note("onClose") }
        func onErr(_ error: SocketError, _ socket: SecureSocket) {
            told.withLock { $0.errors.append(error) }
            note("onErr")
        }
        private func note(_ callback: String) { told.withLock { $0.callbacks.append(callback) } }
        var callbacks: [String] { told.withLock { $0.callbacks } }
    }

    /// Sends back what comes.
    private static func echo() throws -> TestServer {
        try TestServer { connection in
            while case let bytes = connection.read(), !bytes.isEmpty { connection.write(bytes) }
        }
    }

    @Test(arguments: ["relay", "direct"]) func socketsEndAndNewOnesOpen(_ route: String) async throws {
        let server = try Self.echo()
        defer { server.stop() }
        try await RunningApp.run(preparing: RunningApp.listing(server, route)) {
            (app: RunningApp) async throws -> Void in
            let sockets = app.sallyport.sockets
            func connected() async throws -> ByteStream {
                let connection = try await sockets.connect(to: "127.0.0.1:\(server.port)", isSecure: false)
                try await connection.write("hello")
                #expect(try await connection.read() == Array("hello".utf8))
                return connection
            }
            let connection = try await connected()
            #expect((connection.decision?.route == .relay) == (route == "relay"))
            let reader = Task { try await connection.read() }
            let listener = Listener()
            let socket = try sockets.socket(
                host: "127.0.0.1", port: Int(server.port), isSecure: false, delegate: listener)
            try await socket.connect()
            #expect(try await eventually { await socket.socketState == .open })

            #expect(app.sallyport.diagnostics.forceResetAllConnections())
            await #expect(throws: LoadError(.connectionLost, "")) { try await reader.value }
            await #expect(throws: LoadError(.connectionLost, "")) { try await connection.write("more") }
            #expect(try await eventually { await socket.socketState == .disconnected && listener.callbacks.count == 3 })
            #expect(listener.callbacks == ["onOpen", "onErr", "onClose"])
            #expect(listener.told.withLock { $0.errors.map(\.number) } == [1])

            let next = try await connected()
            next.closeWrite()
            #expect(try await next.read() == nil)
            try await socket.connect()
            #expect(try await eventually { await socket.socketState == .open })
            try await socket.writeStream.append("again")
            try await socket.write()
            #expect(try await eventually { listener.callbacks.last == "onRead again" })
        }
    }

    /// The server takes the connection and never answers in TLS.
    @Test func aSocketThatIsBeingOpenedIsGivenUp() async throws {
        let server = try TestServer { $0.awaitEnd() }
        defer { server.stop() }
        let prepare = RunningApp.listing(server, "relay")
        try await RunningApp.run(preparing: prepare) { (app: RunningApp) async throws -> Void in
            let opening = Task {
                try await app.sallyport.sockets.connect(to: "127.0.0.1:\(server.port)", isSecure: true)
            }
            #expect(try await eventually { server.acceptedConnections == 1 })
            app.sallyport.diagnostics.forceResetAllConnections()
            await #expect(throws: LoadError(.connectionLost, "")) { _ = try await opening.value }
        }
    }

    // MARK: Loads

    /// Also one that could be sent again without harm, and has sent all and heard nothing: the app asks anew if it wants to.
    @Test(arguments: ["relay", "direct"]) func aLoadWithoutAnAnswerEndsAndIsNotSentAgain(_ route: String) async throws {
        let requests = Lock(0)
        let server = try TestServer { connection in
            while connection.readHead() != nil { requests.withLock { $0 += 1 } }
        }
        defer { server.stop() }
        try await RunningApp.run(preparing: RunningApp.listing(server, route)) {
            (app: RunningApp) async throws -> Void in
            let load = Task {
                try await app.session.data(for: .get("http://127.0.0.1:\(server.port)/"), upTo: .kibibytes(4))
            }
            #expect(try await eventually { requests.withLock { $0 } == 1 })
            app.sallyport.diagnostics.forceResetAllConnections()
            await #expect(throws: LoadError(.connectionLost, "")) { _ = try await load.value }
            #expect(requests.withLock { $0 } == 1)
            #expect(try await eventually { server.openConnections == 0 })
        }
    }

    /// Six to an origin at once: the seventh has sent nothing yet, and hears of the reset as the others do.
    @Test func aLoadThatWaitsForItsTurnEndsToo() async throws {
        let requests = Lock(0)
        let server = try TestServer { connection in
            while connection.readHead() != nil { requests.withLock { $0 += 1 } }
        }
        defer { server.stop() }
        let prepare = RunningApp.listing(server, "relay")
        try await RunningApp.run(preparing: prepare) { (app: RunningApp) async throws -> Void in
            let loads = (0..<7).map { number in
                Task {
                    try await app.session.data(
                        for: .get("http://127.0.0.1:\(server.port)/\(number)"), upTo: .kibibytes(4))
                }
            }
            #expect(try await eventually { requests.withLock { $0 } == 6 })
            // The seventh task may not have come so far.
            try await Task.sleep(for: .milliseconds(200))
            app.sallyport.diagnostics.forceResetAllConnections()
            for load in loads { await #expect(throws: LoadError(.connectionLost, "")) { _ = try await load.value } }
            #expect(requests.withLock { $0 } == 6)
        }
    }

    /// That the gateway is out of reach ends no load by itself: what goes another way may well succeed.
    @Test func aLossOfTheGatewayLeavesLoadsInFlightAlone() async throws {
        let (begun, end) = (Lock(0), Lock(false))
        let server = try TestServer { connection in
            while connection.readHead() != nil {
                begun.withLock { $0 += 1 }
                while !end.withLock({ $0 }) { usleep(10_000) }
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK")
            }
        }
        defer {
            end.withLock { $0 = true }
            server.stop()
        }
        let prepare = RunningApp.listing(server, "direct")
        try await RunningApp.run(preparing: prepare) { (app: RunningApp) async throws -> Void in
            let url = "http://127.0.0.1:\(server.port)/"
            let load = Task { try await app.session.data(for: .get(url), upTo: .kibibytes(4)) }
            #expect(try await eventually { begun.withLock { $0 } == 1 })
            app.site.gateway.signal(SIGKILL)
            #expect(try await eventually { app.sallyport.reachability.status == .notReachable })
            end.withLock { $0 = true }
            let answer = try await load.value
            #expect(answer.head.status.code == 200 && answer.body == Array("OK".utf8))
            // Its connection was retired: the next load has one of its own.
            _ = try await app.session.data(for: .get(url), upTo: .kibibytes(4))
            #expect(server.acceptedConnections == 2)
        }
    }

    @Test func aLookUpThatIsUnderWayEnds() async throws {
        try await RunningApp.run { (app: RunningApp) async throws -> Void in
            try await app.site.gateway.pause()
            let asked = Lock<NameError?>(nil)
            app.sallyport.names.nslookup(Intranet.name, type: .a) { _, error in asked.withLock { $0 = error } }
            // On its way, or waiting for a connection: either ends.
            try await Task.sleep(for: .milliseconds(200))
            app.sallyport.diagnostics.forceResetAllConnections()
            #expect(try await eventually { asked.withLock { $0?.code } == .networkError })
            app.site.gateway.signal(SIGCONT)
            #expect(try await eventually { app.sallyport.reachability.isPushChannelAvailable })
            #expect(try await app.sallyport.names.lookUp(Intranet.name).exists)
        }
    }
}

/// Knows whether a load waits for connectivity.
private final class WaitingDelegate: SessionDelegate {
    private let state = Lock(false)

    var isWaiting: Bool { state.withLock { $0 } }

    func session(_ session: SecureSession, isWaitingForConnectivity request: LoadRequest) async {
        state.withLock { $0 = true }
    }
}
