import Foundation
import Glibc
import SallyportBase
import SallyportCore
import SallyportEventLoop
import SallyportLoading
import SallyportTransport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TunnelTests {
    let world: World
    let transport = Transport()

    init() throws { world = try World() }

    func readAll(_ tunnel: Tunnel) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let chunk = try await tunnel.read() { bytes += chunk }
        return bytes
    }

    /// Sends everything back after the client has ended its side.
    private func echoServer(_ tls: TestTLS? = nil) throws -> TestServer {
        try TestServer { connection in
            var bytes: [UInt8] = []
            guard let tls else {
                while case let chunk = connection.read(), !chunk.isEmpty { bytes += chunk }
                connection.write(bytes)
                return
            }
            guard let client = tls.accept(connection) else { return }
            while case let chunk = client.read(), !chunk.isEmpty { bytes += chunk }
            guard client.peerEnded else { return }
            for start in stride(from: 0, to: bytes.count, by: 16384) {
                client.write(Array(bytes[start..<min(start + 16384, bytes.count)]))
            }
            client.end()
        }
    }

    private static let payload = Payload.bytes(1_000_000)

    @Test(arguments: [false, true], [false, true])
    func carriesBytesAndHalfClose(_ isRelayed: Bool, _ isSecure: Bool) async throws {
        let server = try echoServer(isSecure ? world.originTLS : nil)
        let relay = try world.relay()
        let direct = try ConnectionPath(trust: .only([world.origin.der]))
        let path = try isRelayed ? world.path(relay) : direct
        let tunnel = try await transport.tunnel(TunnelRequest(to: server.endpoint, isSecure: isSecure), via: path)
        for start in stride(from: 0, to: Self.payload.count, by: 100_000) {
            try await tunnel.write(Array(Self.payload[start..<start + 100_000]))
        }
        tunnel.closeWrite()
        #expect(try await readAll(tunnel) == Self.payload)
        #expect(relay.acceptedConnections == (isRelayed ? 1 : 0))
    }

    @Test func anEndWithoutCloseNotifyIsAnError() async throws {
        let server = try TestServer { [world] connection in
            guard let client = world.originTLS.accept(connection) else { return }
            client.write("half of it")
        }
        let path = try ConnectionPath(trust: .only([world.origin.der]))
        let tunnel = try await transport.tunnel(TunnelRequest(to: server.endpoint, isSecure: true), via: path)
        let error = await #expect(throws: LoadError.self) { try await readAll(tunnel) }
        #expect(error?.code == .connectionLost)
    }

    @Test func closingEndsTheServersSide() async throws {
        let server = try TestServer { $0.awaitEnd() }
        let tunnel = try await transport.tunnel(TunnelRequest(to: server.endpoint), via: ConnectionPath())
        #expect(try await eventually { server.openConnections == 1 })
        tunnel.close()
        await #expect(throws: LoadError.self) { try await tunnel.read() }
        #expect(try await eventually { server.openConnections == 0 })
    }

    /// A writer sends on its own thread, and must not do so while all tunnels are being ended.
    @Test func nothingIsSentOnceAllAreEnded() async throws {
        let arrived = Lock<[UInt8]?>(nil)
        let server = try TestServer { connection in
            var bytes: [UInt8] = []
            while case let chunk = connection.read(), !chunk.isEmpty { bytes += chunk }
            arrived.withLock { [bytes] in $0 = bytes }
        }
        let loops = EventLoopGroup(count: 1, name: "ending")
        let transport = Transport(loops: loops)
        let tunnel = try await transport.tunnel(TunnelRequest(to: server.endpoint), via: ConnectionPath())
        try await tunnel.write([1])
        let isHeld = Lock(true)
        loops.loops[0].execute { while isHeld.withLock({ $0 }) { usleep(1000) } }
        transport.endExchanges(with: LoadError(.withdrawn, at: .routing, "It is withdrawn.")) { _ in true }
        tunnel.send([2])
        isHeld.withLock { $0 = false }
        let error = await #expect(throws: LoadError.self) { try await tunnel.read() }
        #expect(error?.code == .withdrawn)
        #expect(try await eventually { arrived.withLock { $0 } != nil })
        #expect(arrived.withLock { $0 } == [1])
        await transport.shutdown()
        await loops.shutdown()
    }

    /// The loop stands still while the answer and the reset come, so it sees the failed send first.
    @Test(arguments: [false, true])
    func anAnswerThatCameBeforeTheResetIsReadAfterAFailedSend(_ isSecure: Bool) async throws {
        let isHeld = Lock(false)
        let isReleased = Lock(false)
        let server = try TestServer { [world] connection in
            let client = isSecure ? world.originTLS.accept(connection) : nil
            _ = client?.read(upTo: 1) ?? connection.read(upTo: 1)
            while !isHeld.withLock({ $0 }) { usleep(1000) }
            // A reset discards bytes that are not acknowledged yet, such as those of a session ticket.
            connection.sendAtOnce()
            _ = client?.write("answer") ?? connection.write("answer")
            connection.reset()
        }
        let loops = EventLoopGroup(count: 1, name: "resetting")
        let transport = Transport(loops: loops)
        let path = try ConnectionPath(trust: .only([world.origin.der]))
        let tunnel = try await transport.tunnel(TunnelRequest(to: server.endpoint, isSecure: isSecure), via: path)
        try await tunnel.write([1])
        loops.loops[0].execute {
            isHeld.withLock { $0 = true }
            while !isReleased.withLock({ $0 }) { usleep(1000) }
        }
        defer {
            isHeld.withLock { $0 = true }
            isReleased.withLock { $0 = true }
        }
        #expect(try await eventually { isHeld.withLock { $0 } && server.openConnections == 0 })
        tunnel.send([2])
        isReleased.withLock { $0 = true }
        #expect(try await tunnel.read() == Array("answer".utf8))
        let error = await #expect(throws: LoadError.self) { try await tunnel.read() }
        #expect(error?.code == .connectionLost)
        await transport.shutdown()
        await loops.shutdown()
    }

    @Test func releasingItClosesIt() async throws {
        let server = try TestServer { $0.awaitEnd() }
        do { _ = try await transport.tunnel(TunnelRequest(to: server.endpoint), via: ConnectionPath()) }
        #expect(try await eventually { server.openConnections == 0 })
    }

    @Test func aRefusedConnectionIsTyped() async throws {
        let server = try TestServer { _ in }
        let endpoint = try server.endpoint
        server.stop()
        let error = await #expect(throws: LoadError.self) {
            try await transport.tunnel(TunnelRequest(to: endpoint), via: ConnectionPath())
        }
        #expect(error?.code == .cannotConnect && error?.step == .connect)
    }
}

extension TunnelTests {
    /// libcurl closes what it takes for idle and finds readable, once a second, when another connection is made.
    @Test func anotherTunnelLeavesOneWithUnreadBytesAlone() async throws {
        let bytes = [UInt8](repeating: 7, count: 4 << 20)
        let server = try TestServer { $0.write(bytes) }
        let other = try TestServer { $0.awaitEnd() }
        let first = try await transport.tunnel(TunnelRequest(to: server.endpoint), via: ConnectionPath())
        try await Task.sleep(for: .milliseconds(1100))
        _ = try await transport.tunnel(TunnelRequest(to: other.endpoint), via: ConnectionPath())
        #expect(try await readAll(first) == bytes)
    }

    /// A server that sends much and reads slowly does not decide how much is read ahead.
    @Test func aWriterMakesNoRoomForTheReader() async throws {
        let piece = [UInt8](repeating: 7, count: 64 << 10)
        let server = try TestServer { connection in
            Thread.detachNewThread { while connection.write(piece) {} }
            while !connection.read(upTo: piece.count).isEmpty { usleep(1000) }
        }
        let received = Lock<Int?>(nil)
        var request = try TunnelRequest(to: server.endpoint)
        request.reporter = { report in received.withLock { $0 = report.received.body } }
        let tunnel = try await transport.tunnel(request, via: ConnectionPath())
        for _ in 0..<512 { try await tunnel.write(piece) }
        tunnel.close()
        #expect(try await eventually { received.withLock { $0 } != nil })
        let count = try #require(received.withLock { $0 })
        #expect(count <= 320 << 10)
    }

    /// The server reads nothing yet: the end of our side waits for room, as the bytes before it do.
    @Test(arguments: [false, true])
    func anEndBehindAFullSocketArrives(_ isRelayed: Bool) async throws {
        let bytes = [UInt8](repeating: 7, count: 8 << 20)
        let server = try TestServer { [world] connection in
            guard let client = world.originTLS.accept(connection) else { return }
            usleep(300_000)
            var count = 0
            while case let chunk = client.read(), !chunk.isEmpty { count += chunk.count }
            client.write(client.peerEnded ? "\(count)" : "cut")
            client.end()
        }
        let relay = try world.relay()
        let direct = try ConnectionPath(trust: .only([world.origin.der]))
        let path = try isRelayed ? world.path(relay) : direct
        let tunnel = try await transport.tunnel(TunnelRequest(to: server.endpoint, isSecure: true), via: path)
        tunnel.send(bytes)
        tunnel.closeWrite()
        #expect(try await readAll(tunnel) == Array("\(bytes.count)".utf8))
    }
}
