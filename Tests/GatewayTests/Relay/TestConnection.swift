import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport

@testable import SallyportGateway

/// One end of a connection, as bytes: a client of the relay, or a server's side of a tunnel.
final class TestConnection: Sendable {
    let channel: any Channel
    private let inbox: AsyncThrowingStream<[UInt8], any Error>
    private let buffered = Lock<[UInt8]>([])
    private let handshake: EventLoopFuture<Void>

    private init(
        _ channel: any Channel, _ inbox: AsyncThrowingStream<[UInt8], any Error>, handshake: EventLoopFuture<Void>
    ) {
        self.channel = channel
        self.inbox = inbox
        self.handshake = handshake
    }

    /// Adds the last handler of a channel's pipeline, on its loop.
    static func attach(to channel: any Channel) throws -> TestConnection {
        let (stream, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
        let handshake = channel.eventLoop.makePromise(of: Void.self)
        try channel.pipeline.syncOperations.addHandler(InboxHandler(continuation, handshake: handshake))
        return TestConnection(channel, stream, handshake: handshake.futureResult)
    }

    static func open(port: UInt16, trust: TestAuthority, identity: TestIdentity?) async throws -> TestConnection {
        let identity = try identity.map {
            ClientIdentity(certificates: [try $0.der], privateKey: Redacted($0.keyPEM))
        }
        return try await open(port: port, authority: trust.der, identity: identity)
    }

    /// - Parameters:
    ///   - name: of the one that listens, in its certificate.
    ///   - authority: the only trusted authority, DER.
    static func open(
        port: UInt16, of name: String = "localhost", authority: [UInt8], identity: ClientIdentity?
    ) async throws -> TestConnection {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .certificates([try NIOSSLCertificate(bytes: authority, format: .der)])
        if let identity {
            configuration.certificateChain = try identity.certificates.map {
                .certificate(try NIOSSLCertificate(bytes: $0, format: .der))
            }
            configuration.privateKey = .privateKey(
                try NIOSSLPrivateKey(bytes: Array(identity.privateKey.reveal().utf8), format: .pem))
        }
        let context = try NIOSSLContext(configuration: configuration)
        return try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .connect(to: SocketAddress(RelayFixture.loopback, port: port)) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers([
                        DrainingCloseHandler(), NIOSSLClientHandler(context: context, serverHostname: name),
                    ])
                    return try attach(to: channel)
                }
            }
    }

    /// A connection without TLS.
    static func openPlain(port: UInt16) async throws -> TestConnection {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(to: SocketAddress(RelayFixture.loopback, port: port)) { channel in
                channel.eventLoop.makeCompletedFuture { try attach(to: channel) }
            }
    }

    /// Waits for the end of the TLS handshake. A connection is returned before it.
    func handshakeEnded() async throws { try await handshake.get() }

    func send(_ text: String) { send(Array(text.utf8)) }
    func send(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    /// Sends a text again and again from the event loop, however busy the threads of tasks are.
    func send(_ text: String, times: Int, every interval: TimeAmount) {
        for index in 1...times {
            channel.eventLoop.scheduleTask(in: interval * index) { [channel] in
                channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
            }
        }
    }

    var isOpen: Bool { channel.isActive }

    /// Sends close_notify, or a FIN where there is no TLS.
    func closeOutput() { channel.close(mode: .output, promise: nil) }
    func close() { channel.close(promise: nil) }

    /// Closes the socket without close_notify.
    func drop() { channel.eventLoop.execute { [channel] in channel.reset() } }

    func pauseReading() async throws { try await channel.setOption(.autoRead, value: false).get() }
    func resumeReading() async throws { try await channel.setOption(.autoRead, value: true).get() }

    /// Exactly so many bytes.
    func read(_ count: Int) async throws -> [UInt8] {
        try await receive { $0.count >= count ? count : nil }
    }

    /// An HTTP head, with its empty line.
    func head() async throws -> String {
        let bytes = try await receive { bytes in
            guard bytes.count >= 4 else { return nil }
            return (4...bytes.count).first { bytes[($0 - 4)..<$0] == [13, 10, 13, 10] }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Everything up to the end; throws where it came without close_notify or by a reset.
    func rest(within limit: Duration = .seconds(30)) async throws -> [UInt8] {
        try await bounded(limit) { [self] in
            for try await piece in inbox { buffered.withLock { $0 += piece } }
        }
        return buffered.withLock { bytes in
            defer { bytes = [] }
            return bytes
        }
    }

    private func receive(_ enough: @escaping @Sendable ([UInt8]) -> Int?) async throws -> [UInt8] {
        let take: @Sendable (inout [UInt8]) -> [UInt8]? = { bytes in
            guard let count = enough(bytes) else { return nil }
            defer { bytes.removeFirst(count) }
            return Array(bytes.prefix(count))
        }
        let found = Lock<[UInt8]?>(nil)
        try await bounded(.seconds(30)) { [self] in
            if let ready = buffered.withLock({ take(&$0) }) { return found.withLock { $0 = ready } }
            for try await piece in inbox {
                buffered.withLock { $0 += piece }
                if let ready = buffered.withLock({ take(&$0) }) { return found.withLock { $0 = ready } }
            }
        }
        guard let bytes = found.withLock({ $0 }) else {
            throw TestFailure("ended early behind: " + String(decoding: buffered.withLock { $0 }, as: UTF8.self))
        }
        return bytes
    }

    private func bounded(_ limit: Duration, _ body: @escaping @Sendable () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: limit)
                throw TestFailure("Nothing came in time.")
            }
            try await group.next()
            group.cancelAll()
        }
    }
}

private final class InboxHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let continuation: AsyncThrowingStream<[UInt8], any Error>.Continuation
    private let handshake: EventLoopPromise<Void>

    init(
        _ continuation: AsyncThrowingStream<[UInt8], any Error>.Continuation, handshake: EventLoopPromise<Void>
    ) {
        self.continuation = continuation
        self.handshake = handshake
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        continuation.yield(Array(unwrapInboundIn(data).readableBytesView))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { handshake.succeed() }
        if event as? ChannelEvent == .inputClosed { continuation.finish() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { continuation.finish(throwing: error) }

    func channelInactive(context: ChannelHandlerContext) { continuation.finish() }

    func handlerRemoved(context: ChannelHandlerContext) { handshake.fail(ChannelError.eof) }
}

/// A server on loopback that hands out its connections.
struct TestOrigin: Sendable {
    let port: UInt16
    private let listener: any Channel
    private let accepted: AsyncStream<TestConnection>

    /// - Parameter echoes: Whether it sends back what it receives, and its end behind that.
    init(echoes: Bool = false, address: IPAddress = RelayFixture.loopback) async throws {
        let (stream, continuation) = AsyncStream<TestConnection>.makeStream()
        accepted = stream
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(DrainingCloseHandler())
                    if echoes { return try channel.pipeline.syncOperations.addHandler(EchoHandler()) }
                    continuation.yield(try TestConnection.attach(to: channel))
                }
            }
            .bind(to: SocketAddress(address, port: LoopbackPort.free())).get()
        port = UInt16(listener.localAddress?.port ?? 0)
    }

    func accept() async throws -> TestConnection {
        for await connection in accepted { return connection }
        throw TestFailure("No connection came.")
    }

    func close() async throws { try await listener.close().get() }
}

private final class EchoHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(data, promise: nil)
    }
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { context.channel.close(mode: .output, promise: nil) }
    }
}
