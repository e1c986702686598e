internal import NIOCore

/// One side of an open tunnel: hands on what arrives, and reads only while the other side takes more.
final class SpliceHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let side: Tunnel.Side
    private let tunnel: Tunnel
    private var context: ChannelHandlerContext?
    private var holdsRead = false

    init(_ side: Tunnel.Side, of tunnel: Tunnel) {
        self.side = side
        self.tunnel = tunnel
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { tunnel.carry(unwrapInboundIn(data), from: side) }

    func channelReadComplete(context: ChannelHandlerContext) { tunnel.flush(from: side) }

    func read(context: ChannelHandlerContext) {
        holdsRead = !tunnel.accepts(from: side)
        if !holdsRead { context.read() }
    }

    /// Does the read that was held back.
    func resume() {
        guard holdsRead, let context else { return }
        holdsRead = false
        context.read()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { tunnel.writable(at: side) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { tunnel.inputEnded(at: side) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        tunnel.abort(side == .client ? .clientFailed : .serverFailed)
    }

    func channelInactive(context: ChannelHandlerContext) { tunnel.closed(side) }
}
