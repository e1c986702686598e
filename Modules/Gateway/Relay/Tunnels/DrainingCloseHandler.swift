internal import Glibc
internal import NIOCore
internal import NIOSSL

/// Lets what was written reach the socket before a close does.
///
/// NIO closes at once, and drops what is still queued, where a half-close meets a side that the peer already closed,
/// and NIOSSL closes at once behind its close_notify: with a slow reader the end of the stream would be lost. Stands
/// next to the socket, on both sides of a tunnel.
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
    /// Closes at once, past TLS and the queue, with a reset: the peer must not take it for an end.
    func reset() {
        _ = (self as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        let handlers = pipeline.syncOperations
        // TLS would wait for the peer's close_notify, which a peer that is to be cut off may never send.
        let context =
            (try? handlers.context(handlerType: DrainingCloseHandler.self))
            ?? (try? handlers.context(handlerType: NIOSSLServerHandler.self))
        guard let context else { return close(promise: nil) }
        context.close(promise: nil)
    }
}
