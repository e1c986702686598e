internal import Glibc
internal import Logging
internal import NIOCore

/// One question of a helper's over a guard's socket: it is read, answered, and the connection closed.
final class GuardConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// How long a connection may last.
    private static let limit: TimeAmount = .seconds(5)

    private let services: GuardListener.Services
    private var lines = LineSplitter(limit: GuardQuestion.maximumLine)
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?
    private var hasAsked = false

    init(_ services: GuardListener.Services) { self.services = services }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: Self.limit) { channel.close(promise: nil) }
        guard let provider = channel as? any SocketOptionProvider else { return context.close(promise: nil) }
        let peer: EventLoopFuture<PeerCredentials> = provider.unsafeGetSocketOption(
            level: NIOBSDSocket.OptionLevel.socket, name: NIOBSDSocket.Option(rawValue: SO_PEERCRED))
        peer.assumeIsolated().whenComplete { self.admit(try? $0.get()) }
    }

    /// Nothing is read before it is known who asks.
    private func admit(_ peer: PeerCredentials?) {
        guard let context else { return }
        guard let peer, services.isAllowed(peer.uid) else {
            services.logger.notice(
                "A question of another user to the guard was refused.", metadata: ["user": "\(peer?.uid ?? .max)"])
            return context.close(promise: nil)
        }
        context.channel.setOption(.autoRead, value: true).whenFailure { [channel = context.channel] _ in
            channel.close(promise: nil)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasAsked, let line = lines.take(unwrapInboundIn(data).readableBytesView).first else { return }
        hasAsked = true
        let question: GuardQuestion
        do throws(GuardMistake) { question = try GuardQuestion(line: line) } catch {
            return reply(.failed(error.message))
        }
        let promise = context.eventLoop.makePromise(of: GuardAnswer.self)
        promise.completeWithTask { [relayGuard = services.relayGuard] in await relayGuard.answer(question) }
        promise.futureResult.assumeIsolated().whenSuccess { self.reply($0) }
    }

    private func reply(_ answer: GuardAnswer) {
        guard let context else { return }
        if case .failed(let message) = answer {
            services.logger.warning("A relay's question could not be judged.", metadata: ["reason": "\(message)"])
        }
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer.line + "\n"))).whenComplete { _ in
            channel.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
