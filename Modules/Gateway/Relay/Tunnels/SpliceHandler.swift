internal import NIOCore

/// One side of an open tunnel: writes what arrives to the other side, and reads only while the other side takes more.
///
/// The two sides of a tunnel retain each other. They write from their own position in the pipeline; the channel would
/// begin at the pipeline's end.
final class SpliceHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let side: Tunnel.Side
    private let tunnel: Tunnel
    private var other: SpliceHandler?
    private var context: ChannelHandlerContext?
    private var holdsRead = false
    private var hasUnsent = false
    /// The number of bytes received from this side.
    private(set) var byteCount = 0

    init(_ side: Tunnel.Side, of tunnel: Tunnel) {
        self.side = side
        self.tunnel = tunnel
    }

    /// From now on each side's bytes go to the other, until ``part()``.
    func join(_ other: SpliceHandler) {
        self.other = other
        other.other = self
    }

    /// Stops forwarding.
    func part() {
        other?.other = nil
        other = nil
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { carry(unwrapInboundIn(data)) }

    func channelReadComplete(context: ChannelHandlerContext) { send() }

    func carry(_ data: ByteBuffer) {
        guard let context = other?.context else { return }
        byteCount += data.readableBytes
        hasUnsent = true
        context.write(wrapOutboundOut(data), promise: nil)
    }

    /// Flushes forwarded bytes: once for everything that arrived in one turn of the loop, reading the clock once too.
    func send() {
        guard hasUnsent, let context = other?.context else { return }
        hasUnsent = false
        tunnel.carried(at: context.eventLoop.now)
        context.flush()
    }

    func read(context: ChannelHandlerContext) {
        holdsRead = other?.context?.channel.isWritable != true
        if !holdsRead { context.read() }
    }

    /// Does the postponed read.
    private func resume() {
        guard holdsRead, let context else { return }
        holdsRead = false
        context.read()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { other?.resume() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { tunnel.inputEnded(at: side) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        tunnel.abort(side == .client ? .clientFailed : .serverFailed)
    }

    func channelInactive(context: ChannelHandlerContext) { tunnel.closed(side) }
}
