internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import NIOSSL
internal import SallyportCore
internal import SallyportWire

/// A relay's connections to one control gateway: HTTP/1.1 over mutual TLS.
struct FeedClient: Sendable {
    private typealias Connection = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    let address: Endpoint
    /// For the feed.
    let identity: StoredIdentity
    /// The authorities that may have issued the gateway's certificate, DER.
    let trust: [[UInt8]]
    /// How long a connection may take, and then the silence of the gateway.
    var patience: Duration = FeedAPI.silence

    /// Follows the feed until it ends, outside of the caller's actor, since a snapshot can be long.
    ///
    /// - Parameter received: returns whether an update that begins is of no use.
    /// - Throws: as ``receive(_:_:)``.
    @concurrent
    func follow(_ path: String, _ received: @Sendable (FeedAssembly.Event) async throws -> Bool) async throws {
        var assembly = FeedAssembly()
        try await receive(path) { line in
            if try await received(assembly.received(line)) { assembly.skip() }
        }
    }

    /// - Parameter body: called with each line, without its end.
    /// - Throws: `forbidden` for a relay that was removed, `expired`, `limited`, `unreachable`, `invalid`, and what `body`
    ///   throws.
    func receive(_ path: String, _ body: ([UInt8]) async throws -> Void) async throws {
        try await withConnection { inbound, outbound in
            try await outbound.write(.head(head(.GET, path)))
            try await outbound.write(.end(nil))
            var lines = LineBuffer(limit: FeedLine.limit)
            var failure = FailedAnswer()
            for try await part in inbound {
                switch part {
                case .head(let head): failure.begin(head)
                case .body(let buffer) where failure.status == .ok:
                    for line in try lines.append(buffer.readableBytesView) { try await body(line) }
                case .body(let buffer): failure.body += Array(buffer.readableBytesView.prefix(ControlAPI.Limits.error))
                case .end: return try failure.check()
                }
            }
        }
    }

    /// Sends one request.
    func post<Answer: Decodable & Sendable>(
        _ path: String, _ body: some Encodable & Sendable
    ) async throws -> Answer {
        try await withConnection { inbound, outbound in
            var exchange = FeedExchange(
                answers: inbound.makeAsyncIterator(), requests: outbound, head: head(.POST, path))
            return try await exchange.post(body)
        }
    }

    /// Sends requests one after the other, all over one connection, until there is none any more.
    ///
    /// - Parameters:
    ///   - next: the body to send now; nil ends it.
    ///   - sent: called with each body that was taken, and the answer.
    func post<Body: Encodable & Sendable, Answer: Decodable & Sendable>(
        _ path: String, _ next: @Sendable () async -> Body?, sent: @Sendable (Body, Answer) async -> Void
    ) async throws {
        try await withConnection { inbound, outbound in
            var exchange = FeedExchange(
                answers: inbound.makeAsyncIterator(), requests: outbound, head: head(.POST, path))
            while let body = await next() {
                let answer: Answer = try await exchange.post(body)
                await sent(body, answer)
            }
        }
    }

    private func head(_ method: HTTPMethod, _ path: String) -> HTTPRequestHead {
        HTTPRequestHead(version: .http1_1, method: method, uri: path, headers: ["host": address.description])
    }

    private func withConnection<Value: Sendable>(
        _ body: (
            NIOAsyncChannelInboundStream<HTTPClientResponsePart>, NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
        ) async throws -> Value
    ) async throws -> Value {
        let context = try context()
        let name: String? = if case .name(let name) = address.host { name } else { nil }
        let connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.nanoseconds(patience.nanoseconds))
            .connect(host: address.host.bareText, port: Int(address.port)) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handlers = channel.pipeline.syncOperations
                    try handlers.addHandler(NIOSSLClientHandler(context: context, serverHostname: name))
                    try handlers.addHTTPClientHandlers()
                    try handlers.addHandlers([
                        IdleStateHandler(readTimeout: .nanoseconds(patience.nanoseconds)), SilenceHandler(),
                    ])
                    return try Connection(wrappingChannelSynchronously: channel)
                }
            }
        return try await connection.executeThenClose { inbound, outbound in try await body(inbound, outbound) }
    }

    private func context() throws(GatewayError) -> NIOSSLContext {
        do {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.minimumTLSVersion = .tlsv12
            configuration.trustRoots = .certificates(
                try trust.map { try NIOSSLCertificate(bytes: $0, format: .der) })
            configuration.certificateChain = [
                .certificate(try NIOSSLCertificate(bytes: identity.certificate, format: .der))
            ]
            configuration.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(identity.key.utf8), format: .pem))
            configuration.applicationProtocols = ["http/1.1"]
            // A gateway in the midst of its feed does not answer a close_notify.
            configuration.shutdownTimeout = .milliseconds(100)
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw GatewayError(.invalid, "The relay's certificate or authority cannot be used.", underlying: error)
        }
    }
}

/// Requests over one connection, one after the other.
private struct FeedExchange {
    var answers: NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator
    let requests: NIOAsyncChannelOutboundWriter<HTTPClientRequestPart>
    let head: HTTPRequestHead

    mutating func post<Answer: Decodable>(_ body: some Encodable) async throws -> Answer {
        let bytes = Array(try FeedCoding.encoder.encode(body))
        var head = head
        head.headers.add(name: "content-type", value: ControlAPI.MediaType.json)
        head.headers.add(name: "content-length", value: "\(bytes.count)")
        try await requests.write(.head(head))
        try await requests.write(.body(.byteBuffer(ByteBuffer(bytes: bytes))))
        try await requests.write(.end(nil))
        var answer = FailedAnswer()
        while let part = try await answers.next(isolation: #isolation) {
            switch part {
            case .head(let head): answer.begin(head)
            case .body(let buffer):
                answer.body += buffer.readableBytesView
                guard answer.body.count <= ControlAPI.Limits.request else {
                    throw GatewayError(.invalid, "The gateway's answer is too long.")
                }
            case .end:
                try answer.check()
                return try FeedCoding.decoder.decode(Answer.self, from: Data(answer.body))
            }
        }
        throw GatewayError(.unreachable, "The gateway gave no answer.")
    }
}

/// An answer, and whether it is a refusal.
private struct FailedAnswer {
    private(set) var status = HTTPResponseStatus.ok
    private var retryAfter: Int?
    var body: [UInt8] = []

    mutating func begin(_ head: HTTPResponseHead) {
        status = head.status
        retryAfter = head.headers["retry-after"].first.flatMap { Int($0) }
    }

    func check() throws(GatewayError) {
        guard status != .ok else { return }
        let failure = try? WireJSON.decode(ControlAPI.Failure.self, from: body, limit: ControlAPI.Limits.request)
        let message = failure?.error.message ?? "The gateway refuses this relay."
        switch status {
        case .forbidden: throw GatewayError(failure?.error.name == "forbidden" ? .forbidden : .expired, message)
        case .tooManyRequests: throw GatewayError(.limited, message, retryAfter: retryAfter)
        default: throw GatewayError(.unreachable, "The gateway answered with \(status.code).")
        }
    }
}

/// Ends a connection over which nothing comes any more.
private final class SilenceHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { return context.close(mode: .all, promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }
}

/// Divides bytes into lines. A value.
struct LineBuffer: Sendable {
    let limit: Int
    private var rest: [UInt8] = []

    init(limit: Int) { self.limit = limit }

    /// - Returns: the lines that are complete now, without their ends.
    /// - Throws: `invalid` for a line that is longer than the limit.
    mutating func append(_ bytes: ByteBufferView) throws(GatewayError) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        var bytes = bytes[...]
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            try extend(by: bytes[..<end])
            lines.append(rest)
            rest = []
            bytes = bytes[bytes.index(after: end)...]
        }
        try extend(by: bytes)
        return lines
    }

    private mutating func extend(by bytes: ByteBufferView) throws(GatewayError) {
        guard rest.count + bytes.count <= limit else { throw FeedLine.tooLong }
        rest += bytes
    }
}
