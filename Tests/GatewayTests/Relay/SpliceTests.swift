import Logging
import NIOCore
import NIOEmbedded
import SallyportCore
import TestSupport
import Testing

@testable import SallyportGateway

/// Both sides of a tunnel without sockets, on a loop whose time the test moves.
@Suite final class SpliceTests {
    private let loop = EmbeddedEventLoop()
    private let client: EmbeddedChannel
    private let origin: EmbeddedChannel
    private let tunnel: Tunnel
    private let idleTime: TimeAmount = .seconds(600)

    init() throws {
        (client, origin) = (EmbeddedChannel(loop: loop), EmbeddedChannel(loop: loop))
        let authority = try TestAuthority()
        let trust = [try authority.der]
        let policy = StubPolicy()
        let tls = try RelayTLS.context(identity: RelayFixture.identity(authority), trust: trust)
        let services = RelayServices(
            configuration: RelayConfiguration(host: RelayFixture.loopback, port: 0, trust: trust), policy: policy,
            resolver: StubResolver(), registry: TunnelRegistry(tls: tls),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, ownPorts: [])
        tunnel = Tunnel(client: client, services: services)
        let splices = TunnelSplices(of: tunnel)
        for (channel, splice) in [(client, splices.client), (origin, splices.origin)] {
            try channel.pipeline.syncOperations.addHandlers([Meter(), splice])
            try channel.connect(to: SocketAddress(RelayFixture.loopback, port: 1)).wait()
        }
        splices.client.join(splices.origin)
        let grant = TunnelGrant(
            client: try #require(policy.client(presenting: [])), target: try Endpoint("a.example:443"), instance: "one",
            address: RelayFixture.loopback)
        tunnel.open(to: origin, grant: grant, splices: splices)
    }

    /// Both sides hold each other and their channels until the tunnel is over, and the loop what is scheduled on it.
    deinit {
        end()
        for channel in [client, origin] { _ = try? channel.finish(acceptAlreadyClosed: true) }
        try? loop.syncShutdownGracefully()
    }

    private func end() {
        tunnel.abort(.withdrawn)
        loop.run()
    }

    /// What came in one turn of the loop.
    private func send(_ texts: [String], from channel: EmbeddedChannel) {
        for text in texts { channel.pipeline.fireChannelRead(ByteBuffer(string: text)) }
        channel.pipeline.fireChannelReadComplete()
    }

    private func meter(of channel: EmbeddedChannel) throws -> Meter {
        try channel.pipeline.syncOperations.handler(type: Meter.self)
    }

    private func received(by channel: EmbeddedChannel) throws -> String {
        var text = ""
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: buffer) }
        return text
    }

    @Test func bytesOfOneTurnAreForwardedAtOnce() throws {
        send(["a", "b", "c"], from: client)
        send(["d"], from: origin)
        #expect(try received(by: origin) == "abc")
        #expect(try received(by: client) == "d")
        #expect(try meter(of: origin).flushes == 1)
        #expect(try meter(of: client).flushes == 1)
    }

    @Test func aTurnThatBroughtNothingFlushesNothing() throws {
        send([], from: client)
        #expect(try meter(of: origin).flushes == 0)
    }

    @Test func aSideIsReadOnceTheOtherTakesMore() throws {
        let reads = try meter(of: client)
        let before = reads.reads
        origin.isWritable = false
        client.pipeline.read()
        #expect(reads.reads == before)
        origin.isWritable = true
        origin.pipeline.fireChannelWritabilityChanged()
        #expect(reads.reads == before + 1)
        // It is not read again for the same question.
        origin.pipeline.fireChannelWritabilityChanged()
        #expect(reads.reads == before + 1)
    }

    @Test(arguments: [true, false])
    func bytesOfOneSideAloneKeepATunnel(_ isClient: Bool) throws {
        for _ in 0..<10 {
            loop.advanceTime(by: idleTime - .nanoseconds(1))
            send(["x"], from: isClient ? client : origin)
            #expect(!tunnel.isOver)
        }
        loop.advanceTime(by: idleTime - .nanoseconds(1))
        #expect(!tunnel.isOver && client.isActive && origin.isActive)
        loop.advanceTime(by: .nanoseconds(1))
        #expect(tunnel.isOver && !client.isActive && !origin.isActive)
    }

    @Test func aTurnThatBroughtNothingKeepsNoTunnel() throws {
        loop.advanceTime(by: idleTime - .nanoseconds(1))
        send([], from: client)
        loop.advanceTime(by: .nanoseconds(1))
        #expect(tunnel.isOver)
    }

    @Test func aTunnelThatIsOverCarriesNothing() throws {
        client.pipeline.fireChannelRead(ByteBuffer(string: "before"))
        tunnel.end(.ended)
        send(["behind"], from: client)
        send(["behind"], from: origin)
        origin.pipeline.flush()
        #expect(try received(by: origin) == "before")
        #expect(try received(by: client).isEmpty)
    }

    @Test func theHandlersOfATunnelThatIsOverAreFreed() throws {
        weak var handler: SpliceHandler?
        handler = try client.pipeline.syncOperations.handler(type: SpliceHandler.self)
        #expect(handler != nil)
        end()
        #expect(handler == nil)
    }
}

/// Counts what gets as far as the socket.
private final class Meter: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    private(set) var reads = 0
    private(set) var flushes = 0

    func read(context: ChannelHandlerContext) {
        reads += 1
        context.read()
    }

    func flush(context: ChannelHandlerContext) {
        flushes += 1
        context.flush()
    }
}
