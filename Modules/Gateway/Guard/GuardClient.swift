internal import NIOCore
internal import NIOPosix

/// Asks a guard over its Unix socket.
package struct GuardClient: Sendable {
    /// How long an answer is waited for: a guard that is stopped must not hold a CONNECT up.
    package static let patience: Duration = .seconds(2)

    private let path: String
    private let patience: TimeAmount

    package init(path: String, patience: Duration = Self.patience) {
        self.path = path
        self.patience = .nanoseconds(patience.nanoseconds)
    }

    /// The guard's answer; a failure if there is none in time, never anything that opens a tunnel.
    package func ask(_ question: GuardQuestion) async -> GuardAnswer {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: GuardAnswer.self)
        let path = path
        let timer = loop.scheduleTask(in: patience) {
            promise.succeed(.unavailable("The guard at \(path) does not answer."))
        }
        let line = ByteBuffer(bytes: question.line + [UInt8(ascii: "\n")])
        let connecting = ClientBootstrap(group: loop)
            .connectTimeout(patience)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(GuardAnswerHandler(line, promise))
                }
            }
            .connect(unixDomainSocketPath: path)
        connecting.whenFailure { _ in promise.succeed(.unavailable("The guard at \(path) cannot be reached.")) }
        let answer = try? await promise.futureResult.get()
        timer.cancel()
        connecting.whenSuccess { $0.close(promise: nil) }
        return answer ?? .unavailable("The guard at \(path) does not answer.")
    }
}

/// Sends a question, and takes the first line that comes back.
private final class GuardAnswerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let question: ByteBuffer
    private let promise: EventLoopPromise<GuardAnswer>
    private var lines = LineSplitter(limit: GuardAnswer.maximumLine)

    init(_ question: ByteBuffer, _ promise: EventLoopPromise<GuardAnswer>) {
        self.question = question
        self.promise = promise
    }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(question), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let line = lines.take(unwrapInboundIn(data).readableBytesView).first else { return }
        promise.succeed(GuardAnswer(line: line) ?? .failed("The guard's answer is not understood."))
    }

    func channelInactive(context: ChannelHandlerContext) {
        promise.succeed(.failed("The guard closed the connection: is this user one of its --allow-user?"))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
