internal import NIOCore
internal import SallyportWire

/// One query on one channel, and the promise of its answer.
struct DNSExchange: Sendable {
    enum Framing { case datagrams, stream }

    let query: DNSMessage
    let answer: EventLoopPromise<DNSMessage>

    /// Sends the query on a connected channel, which is closed when the answer is there or the time is over.
    func run(on connection: Result<any Channel, any Error>, over framing: Framing, for timeout: TimeAmount) {
        guard case .success(let channel) = connection, let bytes = try? query.serialized() else {
            if case .success(let channel) = connection { channel.close(promise: nil) }
            return answer.fail(NameResolutionError.failed)
        }
        let timer = channel.eventLoop.scheduleTask(in: timeout) { answer.fail(NameResolutionError.timedOut) }
        answer.futureResult.whenComplete { _ in
            timer.cancel()
            channel.close(promise: nil)
        }
        var buffer = channel.allocator.buffer(capacity: bytes.count + 2)
        if framing == .stream { buffer.writeInteger(UInt16(bytes.count)) }
        buffer.writeBytes(bytes)
        channel.writeAndFlush(buffer, promise: nil)
    }

    /// Takes a message if it answers this query: another may be forged, or late.
    func received(_ bytes: [UInt8]) {
        guard let message = try? DNSMessage(parsing: bytes), message.isResponse, message.id == query.id,
            message.question == query.question
        else { return }
        answer.succeed(message)
    }

    func failed() { answer.fail(NameResolutionError.failed) }
}

final class DNSDatagramHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>
    typealias OutboundOut = ByteBuffer

    private let exchange: DNSExchange
    init(_ exchange: DNSExchange) { self.exchange = exchange }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        exchange.received(Array(unwrapInboundIn(data).data.readableBytesView))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { exchange.failed() }
    func channelInactive(context: ChannelHandlerContext) { exchange.failed() }
}

final class DNSStreamHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let exchange: DNSExchange
    private var received = ByteBuffer()
    init(_ exchange: DNSExchange) { self.exchange = exchange }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var piece = unwrapInboundIn(data)
        received.writeBuffer(&piece)
        // The length prefix bounds what is kept to one message.
        guard let length = received.getInteger(at: received.readerIndex, as: UInt16.self),
            let bytes = received.getBytes(at: received.readerIndex + 2, length: Int(length))
        else { return }
        exchange.received(bytes)
        exchange.failed()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { exchange.failed() }
    func channelInactive(context: ChannelHandlerContext) { exchange.failed() }
}
