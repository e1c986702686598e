import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportSocket

/// ``SecureSocket`` with real connections: which callbacks are made, and when.
@Suite(.timeLimit(.minutes(1)))
struct SecureSocketTests {
    private let world: World
    private let app: SocketApp
    private let observer = Observer()

    init() throws {
        world = try World()
        app = try SocketApp(in: world)
    }

    /// Keeps what it is told; consumes what comes, unless told otherwise.
    final class Observer: SocketDelegate {
        struct Told: Sendable {
            var callbacks: [SocketCallback] = []
            var text = ""
            var errors: [SocketError] = []
            var states: [SocketState] = []
        }
        private let told = Lock(Told())
        private let consumes = Lock(true)

        var current: Told { told.withLock { $0 } }
        func leaveAlone() { consumes.withLock { $0 = false } }

        private func note(_ callback: SocketCallback, _ socket: SecureSocket) async {
            let state = await socket.socketState
            told.withLock { told in
                told.callbacks.append(callback)
                told.states.append(state)
            }
        }

        func onOpen(_ socket: SecureSocket) async { await note(.onOpen, socket) }
        func onRead(_ socket: SecureSocket) async {
            if consumes.withLock({ $0 }), let text = await socket.readStream.unreadText() {
                told.withLock { $0.text += text }
            }
            guard current.callbacks.last != .onRead else { return }
            await note(.onRead, socket)
        }
        func onClose(_ socket: SecureSocket) async { await note(.onClose, socket) }
        func onErr(_ error: SocketError, _ socket: SecureSocket) async {
            told.withLock { $0.errors.append(error) }
            await note(.onErr, socket)
        }

        func isTold(_ callback: SocketCallback, times: Int = 1) async throws -> Bool {
            try await eventually { current.callbacks.count { $0 == callback } >= times }
        }
    }

    private func socket(
        _ server: TestServer, isSecure: Bool, _ change: (inout SocketConfiguration) throws -> Void = { _ in }
    ) throws -> SecureSocket {
        try app.sockets.socket(
            host: "127.0.0.1", port: Int(server.port), isSecure: isSecure, app.configuration(change),
            delegate: observer)
    }

    @Test(arguments: [false, true], [false, true])
    func goesThroughItsStatesAndBack(_ isRelayed: Bool, _ isSecure: Bool) async throws {
        let server = try world.mirror(isSecure: isSecure)
        let relay = isRelayed ? try world.relayed() : nil
        let socket = try socket(server, isSecure: isSecure)
        #expect(await socket.socketState == .prepared)
        #expect(await socket.peer == nil)
        for turn in 1...2 {
            try await socket.connect()
            #expect(try await observer.isTold(.onOpen, times: turn))
            #expect(await socket.socketState == .open)
            #expect(await socket.peer?.decision?.route == (isRelayed ? .relay : .direct))
            try await socket.writeStream.append("hello \(turn) ")
            #expect(observer.current.text.isEmpty || turn > 1, "appending sends nothing")
            try await socket.write()
            #expect(await socket.writeStream.bytesUnread == 0)
            #expect(try await eventually { observer.current.text.hasSuffix("hello \(turn) ") })
            // The observer notes the state at the moment of a call, so the call must come before the next step.
            #expect(try await observer.isTold(.onRead, times: turn))
            try await socket.disconnect()
            #expect(try await observer.isTold(.onClose, times: turn))
            #expect(await socket.socketState == .disconnected)
            #expect(await socket.peer == nil)
        }
        #expect(observer.current.callbacks == [.onOpen, .onRead, .onClose, .onOpen, .onRead, .onClose])
        #expect(observer.current.states == [.open, .open, .disconnected, .open, .open, .disconnected])
        #expect(observer.current.errors.isEmpty)
        _ = relay
    }

    @Test func bytesBeforeTheEndArriveAfterDisconnect() async throws {
        let server = try world.server(isSecure: true) { client in
            let bytes = client.readAll()
            client.write(bytes)
            client.end()
        }
        let socket = try socket(server, isSecure: true)
        try await socket.connect()
        #expect(try await observer.isTold(.onOpen))
        try await socket.writeStream.append("late answer")
        try await socket.write()
        try await socket.disconnect()
        #expect(try await observer.isTold(.onClose))
        #expect(observer.current.text == "late answer")
        #expect(observer.current.callbacks == [.onOpen, .onRead, .onClose])
        #expect(observer.current.states[1] == .disconnecting)
    }

    @Test(arguments: [false, true])
    func theServersEndClosesIt(_ isSecure: Bool) async throws {
        let server = try world.server(isSecure: isSecure) { client in
            client.write(Array("bye".utf8))
            client.end()
            _ = client.readAll()
        }
        let socket = try socket(server, isSecure: isSecure)
        try await socket.connect()
        #expect(try await observer.isTold(.onClose))
        #expect(observer.current.text == "bye" && observer.current.errors.isEmpty)
        await #expect(throws: SocketError(.wrongState, "")) { try await socket.write() }
        #expect(try await eventually { server.openConnections == 0 })
    }

    @Test func aConnectionThatBreaksIsAnErrorAndThenClosed() async throws {
        let server = try world.server(isSecure: true) { $0.write(Array("half".utf8)) }
        let socket = try socket(server, isSecure: true)
        try await socket.connect()
        #expect(try await observer.isTold(.onClose))
        #expect(Array(observer.current.callbacks.suffix(2)) == [.onErr, .onClose])
        #expect(observer.current.errors.first?.number == 1)
        #expect(observer.current.errors.first?.cause?.code == .connectionLost)
        // Disconnected: it may connect again.
        try await socket.connect()
        #expect(try await observer.isTold(.onClose, times: 2))
    }

    /// Connects again in its first `onClose`, and gives the new connection time to call it meanwhile.
    private final class Reconnecting: SocketDelegate {
        struct Told: Sendable {
            var opened = 0
            var isClosing = false
            var hasOverlapped = false
        }
        private let told = Lock(Told())

        var current: Told { told.withLock { $0 } }

        func onOpen(_ socket: SecureSocket) async {
            told.withLock { told in
                told.opened += 1
                if told.isClosing { told.hasOverlapped = true }
            }
        }
        func onRead(_ socket: SecureSocket) async {}
        func onErr(_ error: SocketError, _ socket: SecureSocket) async {}

        func onClose(_ socket: SecureSocket) async {
            guard current.opened == 1 else { return }
            told.withLock { $0.isClosing = true }
            try? await socket.connect()
            for _ in 0..<40 where current.opened == 1 { try? await Task.sleep(for: .milliseconds(5)) }
            told.withLock { $0.isClosing = false }
        }
    }

    @Test func callbacksOfTwoConnectionsComeOneAtATime() async throws {
        let server = try world.mirror(isSecure: false)
        let delegate = Reconnecting()
        let socket = try socket(server, isSecure: false)
        await socket.setDelegate(delegate)
        try await socket.connect()
        #expect(try await eventually { delegate.current.opened == 1 })
        try await socket.disconnect()
        #expect(try await eventually { delegate.current.opened == 2 })
        #expect(!delegate.current.hasOverlapped)
    }

    // MARK: The second attempt

    @Test func aFailedConnectionFinishesTheSocketAndAnotherTriesWithLessChecking() async throws {
        let tls = try TestTLS(TestAuthority(name: "Other").server(names: ["other.example"]))
        let server = try TestServer { connection in
            guard let client = tls.accept(connection) else { return }
            client.write("unsafe")
            _ = client.read()
        }
        let first = try socket(server, isSecure: true)
        await #expect(throws: SocketError(.wrongState, "")) { try await first.retrying(disabling: [.peer]) }
        try await first.connect()
        #expect(try await observer.isTold(.onErr))
        #expect(await first.socketState == .connecting)
        #expect(observer.current.errors[0].number == 1)
        #expect(observer.current.errors[0].cause?.underlying is ServerTrustEvaluation)
        await #expect(throws: SocketError(.finished, "")) { try await first.connect() }
        await #expect(throws: SocketError(.finished, "")) { try await first.write() }
        await #expect(throws: SocketError(.finished, "")) { try await first.disconnect() }
        await #expect(throws: SocketError(.finished, "")) { try await first.disablePeerVerification() }
        #expect(await first.socketState == .connecting)
        let second = try await first.retrying(disabling: [.host])
        #expect(await second.socketState == .prepared)
        #expect(second.endpoint == first.endpoint)
        #expect(await second.delegate != nil)
        try await second.connect()
        #expect(try await observer.isTold(.onErr, times: 2))
        let third = try await second.retrying(disabling: [.peer])
        try await third.connect()
        #expect(try await observer.isTold(.onOpen))
        #expect(try await eventually { observer.current.text == "unsafe" })
        #expect(await third.peer?.tls?.disabledChecks == [.host, .peer])
    }

    @Test func theSwitchesHoldForTheirSocket() async throws {
        let tls = try TestTLS(world.origin.server(names: ["other.example"]))
        let server = try TestServer { if let client = tls.accept($0) { _ = client.read() } }
        let socket = try socket(server, isSecure: true)
        try await socket.disableHostVerification()
        try await socket.connect()
        #expect(try await observer.isTold(.onOpen))
        let other = try self.socket(server, isSecure: true)
        try await other.connect()
        #expect(try await observer.isTold(.onErr))
    }

    @Test func aServerKnownByItsKeyIsAlwaysVerified() async throws {
        let server = try world.mirror(isSecure: true)
        let (key, backup) = (PublicKeyPin(sha256: Array(0..<32))!, PublicKeyPin(sha256: Array(1..<33))!)
        let socket = try socket(server, isSecure: true) { try $0.pin(to: key, backups: [backup]) }
        await #expect(throws: SocketError(.invalidRequest, "")) { try await socket.disablePeerVerification() }
        try await socket.connect()
        #expect(try await observer.isTold(.onErr))
        await #expect(throws: SocketError(.invalidRequest, "")) { try await socket.retrying(disabling: [.peer]) }
    }

    // MARK: Buffers

    @Test func aFullInboundBufferSlowsTheServerDown() async throws {
        let total = 4 << 20
        let server = try world.server(isSecure: true) { client in
            for _ in 0..<total / 16384 { client.write([UInt8](repeating: 65, count: 16384)) }
            client.end()
            _ = client.readAll()
        }
        let socket = try socket(server, isSecure: true) { $0.inboundLimit = .kibibytes(64) }
        observer.leaveAlone()
        try await socket.connect()
        #expect(try await eventually { await socket.readStream.bytesUnread >= 64 << 10 })
        try await Task.sleep(for: .milliseconds(100))
        #expect(await socket.readStream.bytesUnread <= (64 << 10) + (128 << 10))
        let count = Lock(0)
        #expect(
            try await eventually {
                let more = await socket.readStream.unreadBytes()?.count ?? 0
                return count.withLock {
                    $0 += more
                    return $0 == total
                }
            })
        #expect(try await observer.isTold(.onClose))
        #expect(observer.current.errors.isEmpty)
    }

    @Test func aBufferWithoutRoomTakesMoreWhenItIsEmpty() async throws {
        let server = try world.mirror(isSecure: false)
        let socket = try socket(server, isSecure: false) { $0.inboundLimit = .bytes(0) }
        try await socket.connect()
        #expect(try await observer.isTold(.onOpen))
        for text in ["one", "two"] {
            try await socket.writeStream.append(text)
            try await socket.write()
            #expect(try await eventually { observer.current.text.hasSuffix(text) })
        }
    }

    @Test func moreThanTheOutboundLimitIsRefusedAndKept() async throws {
        let reads = Lock(false)
        let server = try TestServer { connection in
            while !reads.withLock({ $0 }) { connection.pause(.milliseconds(5)) }
            connection.awaitEnd()
        }
        defer { reads.withLock { $0 = true } }
        let socket = try socket(server, isSecure: false) { $0.outboundLimit = .mebibytes(1) }
        try await socket.connect()
        #expect(try await observer.isTold(.onOpen))
        var refused = false
        for _ in 0..<64 where !refused {
            try await socket.writeStream.append([UInt8](repeating: 1, count: 1 << 20))
            do throws(SocketError) { try await socket.write() } catch {
                #expect(error.code == .bufferFull)
                refused = true
            }
        }
        #expect(refused)
        #expect(await socket.writeStream.bytesUnread == 1 << 20)
        #expect(await socket.socketState == .open)
        reads.withLock { $0 = true }
        #expect(try await eventually { (try? await socket.write()) != nil })
    }

    /// The app does not consume bytes: the end and a withdrawal must be reported nevertheless.
    @Test(arguments: [false, true])
    func aFullBufferKeepsNoEndFromBeingTold(_ isWithdrawn: Bool) async throws {
        let server = try world.server(isSecure: false) { client in
            while client.write([UInt8](repeating: 65, count: 16384)) {}
        }
        let socket = try socket(server, isSecure: false) {
            $0.inboundLimit = .kibibytes(64)
            $0.closeTimeout = .milliseconds(200)
        }
        observer.leaveAlone()
        try await socket.connect()
        #expect(try await eventually { await socket.readStream.bytesUnread >= 64 << 10 })
        if isWithdrawn { world.gate.withdraw(.blocked) } else { try await socket.disconnect() }
        #expect(try await observer.isTold(.onClose))
        #expect(observer.current.errors.map(\.code) == (isWithdrawn ? [.withdrawn] : []))
        // A withdrawal drops what was not read; a regular end leaves it.
        let unread = await socket.readStream.bytesUnread
        #expect((unread == 0) == isWithdrawn)
    }

    /// Both sides have ended the connection, so a withdrawal finds none to end. Access that is given back does not
    /// bring the bytes back.
    @Test func aWithdrawalDropsWhatWasNotReadOfAConnectionThatHadEnded() async throws {
        let server = try world.server(isSecure: false) { client in
            client.write(Array("bye".utf8))
            client.end()
            _ = client.readAll()
        }
        let socket = try socket(server, isSecure: false)
        observer.leaveAlone()
        try await socket.connect()
        #expect(try await observer.isTold(.onClose))
        #expect(await socket.readStream.bytesUnread == 3)
        world.gate.withdraw(.blocked)
        world.gate.authorize()
        #expect(await socket.readStream.bytesUnread == 0)
        #expect(await socket.readStream.unreadBytes() == nil)
    }

    /// The stream passes bytes on, access is withdrawn, and the app counts before the socket takes the bytes: all in
    /// one turn of the socket, so that the end of the connection comes later.
    @Test func bytesThatWereOnTheirWayAtAWithdrawalAreNotRead() async throws {
        let server = try world.mirror(isSecure: false)
        let socket = try socket(server, isSecure: false)
        observer.leaveAlone()
        try await socket.connect()
        #expect(try await observer.isTold(.onOpen))
        let read = await socket.read("late", after: world.gate)
        #expect(read.callback == .onRead && read.count == 0 && read.bytes.isEmpty)
    }

    // MARK: Authorization and life

    @Test func withoutAuthorizationConnectThrowsAndNothingChanges() async throws {
        let server = try world.mirror(isSecure: false)
        let socket = try socket(server, isSecure: false)
        world.gate.withdraw(.remoteLockout)
        let error = await #expect(throws: SocketError.self) { try await socket.connect() }
        #expect(error?.code == .withdrawn)
        #expect(await socket.socketState == .prepared)
        world.gate.authorize()
        try await socket.connect()
        #expect(try await observer.isTold(.onOpen))
    }

    @Test func aDeniedServerIsAnErrorOfTheConnection() async throws {
        let server = try world.mirror(isSecure: false)
        world.gate.route(by: RoutingTable(default: .deny))
        let socket = try socket(server, isSecure: false)
        try await socket.connect()
        #expect(try await observer.isTold(.onErr))
        #expect(observer.current.errors[0].code == .refusedByPolicy && observer.current.errors[0].number == 1)
        #expect(server.acceptedConnections == 0)
    }

    @Test(arguments: [false, true]) func aNameThatLeadsToADeniedAddressIsAnErrorOfTheConnection(
        _ isSecure: Bool
    ) async throws {
        let server = try world.mirror(isSecure: isSecure)
        let networks = ["127.0.0.0/8", "::1/128"].compactMap { IPNetwork($0) }
        world.gate.route(by: RoutingTable(denying: networks, default: .direct))
        let socket = try app.sockets.socket(
            host: "localhost", port: Int(server.port), isSecure: isSecure, app.configuration())
        await socket.setDelegate(observer)
        try await socket.connect()
        #expect(try await observer.isTold(.onErr))
        #expect(observer.current.errors.first?.code == .refusedByPolicy)
        #expect(server.acceptedConnections == 0)
    }

    @Test func withdrawalEndsItWithItsCode() async throws {
        let server = try world.mirror(isSecure: true)
        let socket = try socket(server, isSecure: true)
        try await socket.connect()
        #expect(try await observer.isTold(.onOpen))
        world.gate.withdraw(.wiped)
        #expect(try await observer.isTold(.onClose))
        #expect(observer.current.errors.map(\.code) == [.withdrawn])
        #expect((observer.current.errors[0].cause?.underlying as? AccessDenied)?.code == .wiped)
    }

    @Test func aReleasedSocketIsClosed() async throws {
        let server = try world.mirror(isSecure: true)
        do {
            let socket = try socket(server, isSecure: true)
            try await socket.connect()
            #expect(try await observer.isTold(.onOpen))
        }
        #expect(try await eventually { server.openConnections == 0 })
        #expect(observer.current.callbacks == [.onOpen])
    }

    @Test(arguments: [("", 1), ("a b", 1), ("host", 0), ("host", 65536), ("host", -1)])
    func anAddressThatIsNoneIsRefused(_ host: String, _ port: Int) {
        #expect(throws: SocketError(.invalidRequest, "")) {
            try app.sockets.socket(host: host, port: port, isSecure: false)
        }
    }
}

extension SecureSocket {
    /// Receives text over the first connection after a withdrawal that the app's call has already noticed.
    fileprivate func read(
        _ text: String, after gate: StubGate
    ) -> (callback: SocketCallback?, count: Int, bytes: [UInt8]) {
        gate.withdraw(.blocked)
        let count = count(of: .inbound)
        let callback = received(Array(text.utf8), in: 1)
        return (callback, count, take(upTo: .max, from: .inbound))
    }
}
