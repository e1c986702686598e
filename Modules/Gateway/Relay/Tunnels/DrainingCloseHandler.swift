internal import Glibc
internal import NIOCore
internal import NIOSSL

/// Lets written bytes reach the socket before a close.
///
/// NIO closes at once and drops queued bytes if a half-close follows the peer's close, and NIOSSL closes right after
/// its close_notify: a slow reader would miss the end of the stream. This handler is next to the socket, on both sides
/// of a tunnel.
final class DrainingCloseHandler: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode != .input else { return context.close(mode: mode, promise: promise) }
        // An empty write completes in its turn.
        let drained = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: drained)
        drained.futureResult.assumeIsolated().whenComplete { _ in context.close(mode: mode, promise: promise) }
    }
}

extension Channel {
    /// Closes at once, bypassing TLS and the queue, with a reset: the peer must not take it for a regular end.
    func reset() {
        _ = (self as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        let handlers = pipeline.syncOperations
        // TLS would wait for the peer's close_notify, which such a peer may never send.
        let context =
            (try? handlers.context(handlerType: DrainingCloseHandler.self))
            ?? (try? handlers.context(handlerType: NIOSSLServerHandler.self))
        guard let context else { return close(promise: nil) }
        context.close(promise: nil)
    }
}
