import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import SallyportAuthTokenVerification

/// The gateway as this service asks it: for its published keys, and for its verdict on a token. The library links no HTTP
/// client; this one makes a connection for each request, which is enough for keys. On-line a service that has much to do
/// keeps its connections, with the client that it has anyway.
struct GatewayClient: AuthTokenKeySource, AuthTokenService {
    struct NoAnswer: Error {}

    private let host: String
    private let port: Int
    private let tls: NIOSSLContext

    /// - Parameter authorityFile: PEM: the gateway's own authority, the only one that may issue its certificate.
    init(host: String, port: Int, authorityFile: String) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.trustRoots = .file(authorityFile)
        configuration.minimumTLSVersion = .tlsv12
        (self.host, self.port) = (host, port)
        tls = try NIOSSLContext(configuration: configuration)
    }

    func fetchKeys() async throws -> [UInt8] {
        let answer = try await get("/.well-known/jwks.json", HTTPHeaders())
        guard answer.head.status == .ok else { throw NoAnswer() }
        return answer.body
    }

    func verify(_ headerFields: HTTPFields) async throws -> HTTPResponse {
        let answer = try await get(
            "/verifyGDAuthToken", HTTPHeaders(headerFields.map { ($0.name.rawName, $0.value) }))
        var response = HTTPResponse(status: .init(code: Int(answer.head.status.code)))
        for (name, value) in answer.head.headers {
            if let name = HTTPField.Name(name) { response.headerFields.append(HTTPField(name: name, value: value)) }
        }
        return response
    }

    private typealias Answer = (head: HTTPResponseHead, body: [UInt8])

    /// Within 5 s.
    private func get(_ path: String, _ headers: HTTPHeaders) async throws -> Answer {
        try await withThrowingTaskGroup(of: Answer.self) { group in
            group.addTask { try await exchange(path, headers) }
            group.addTask {
                try await Task.sleep(for: .seconds(5))
                throw NoAnswer()
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() else { throw NoAnswer() }
            return answer
        }
    }

    private func exchange(_ path: String, _ headers: HTTPHeaders) async throws -> Answer {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let operations = channel.pipeline.syncOperations
                    try operations.addHandler(NIOSSLClientHandler(context: tls, serverHostname: host))
                    try operations.addHTTPClientHandlers()
                    return try NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>(
                        wrappingChannelSynchronously: channel)
                }
            }
        var headers = headers
        headers.add(name: "Host", value: "\(host):\(port)")
        headers.add(name: "Connection", value: "close")
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)
        var answer: Answer?
        do {
            try await channel.executeThenClose { inbound, outbound in
                // In one write: the gateway may answer the head and close before a second one, which would fail then.
                try await outbound.write(contentsOf: [.head(head), .end(nil)])
                answer = try await Self.read(inbound)
            }
        } catch {
            // Once the answer is whole, it does not matter how the gateway ends the connection.
            guard answer != nil else { throw error }
        }
        guard let answer else { throw NoAnswer() }
        return answer
    }

    private static func read(_ parts: NIOAsyncChannelInboundStream<HTTPClientResponsePart>) async throws -> Answer {
        var head: HTTPResponseHead?
        var body: [UInt8] = []
        for try await part in parts {
            switch part {
            case .head(let received): head = received
            case .body(let received):
                body += received.readableBytesView
                // The library takes no more.
                guard body.count <= 64 << 10 else { throw NoAnswer() }
            case .end:
                guard let head else { throw NoAnswer() }
                return (head, body)
            }
        }
        throw NoAnswer()
    }
}
