package import HTTPTypes
internal import SallyportBase
package import SallyportCore
package import SallyportLoading
package import SallyportTransport
internal import SallyportWire
internal import Synchronization

/// One request to the gateway's control plane.
package struct ControlRequest: Sendable {
    /// How the server's certificate is verified.
    package enum Trust: Sendable, Hashable {
        /// Not at all: for fetching public certificates only.
        case anybody
        /// The only trusted authorities, DER.
        case authorities([[UInt8]])
    }

    package var method: HTTPRequest.Method
    package var gateway: Endpoint
    /// Path and query.
    package var target: String
    package var headerFields: HTTPFields = [:]
    package var body: [UInt8]?
    package var trust: Trust
    package var identity: ClientIdentity?
    /// The longest body of the answer that is read, in bytes.
    package var limit: Int
    /// The time limit of the whole exchange.
    package var timeout: Duration
    /// Over a new connection that is closed afterwards: the purpose is to find out whether connecting is possible.
    package var isAlone = false

    package init(
        method: HTTPRequest.Method = .get, gateway: Endpoint, target: String, body: [UInt8]? = nil, trust: Trust,
        identity: ClientIdentity? = nil, limit: Int, timeout: Duration = .seconds(10)
    ) {
        self.method = method
        self.gateway = gateway
        self.target = target
        self.body = body
        self.trust = trust
        self.identity = identity
        self.limit = limit
        self.timeout = timeout
    }
}

package struct ControlAnswer: Sendable {
    package var status: Int
    package var headerFields: HTTPFields
    package var body: [UInt8]
    /// The connection over which it came; nil if there was none.
    package var connection: ConnectionFacts?

    package init(
        status: Int, headerFields: HTTPFields = [:], body: [UInt8], connection: ConnectionFacts? = nil
    ) {
        self.status = status
        self.headerFields = headerFields
        self.body = body
        self.connection = connection
    }
}

/// An answer that continues, such as the event stream.
package struct ControlStream: Sendable {
    package var status: Int
    package var body: ResponseBody
    /// The connection over which it comes; nil if there is none.
    package var connection: ConnectionFacts?

    package init(status: Int, body: ResponseBody, connection: ConnectionFacts? = nil) {
        self.status = status
        self.body = body
        self.connection = connection
    }
}

/// Sends requests to the gateway; tests use substitutes.
package protocol ControlClient: Sendable {
    func send(_ request: ControlRequest) async throws(LoadError) -> ControlAnswer
    /// Opens a continuous stream; it fails if nothing arrives for `request.timeout`.
    func open(_ request: ControlRequest) async throws(LoadError) -> ControlStream
    /// Keeps new requests from using connections with this `identity`; those in flight continue.
    func retire(_ identity: ClientIdentity)
    /// Ends requests in flight with `failure`, and closes all connections.
    func reset(_ failure: LoadError)
    /// Frees the connections; nothing is sent afterwards.
    func shutdown() async
}

/// A client without connections of its own.
extension ControlClient {
    package func reset(_ failure: LoadError) {}
    package func shutdown() async {}
}

/// Requests over the transport.
package struct TransportControlClient: ControlClient {
    private let transport: Transport
    package init(_ transport: Transport) { self.transport = transport }

    package func send(_ request: ControlRequest) async throws(LoadError) -> ControlAnswer {
        var exchange = try exchange(for: request)
        exchange.deadline = .now + request.timeout
        let path = path(for: request)
        defer { if request.isAlone { transport.closeConnections { $0.partition == path.partition } } }
        let response = try await transport.exchange(exchange, via: path)
        let body = try await response.body.collect(upTo: .bytes(request.limit))
        return ControlAnswer(
            status: response.head.status.code, headerFields: response.head.headerFields, body: body,
            connection: response.facts.connection)
    }

    package func open(_ request: ControlRequest) async throws(LoadError) -> ControlStream {
        let response = try await transport.exchange(exchange(for: request), via: path(for: request))
        return ControlStream(
            status: response.head.status.code, body: response.body, connection: response.facts.connection)
    }

    package func retire(_ identity: ClientIdentity) {
        transport.closeConnections { $0.identity == identity || $0.relay?.identity == identity }
    }

    package func reset(_ failure: LoadError) {
        transport.endExchanges(with: failure) { _ in true }
        transport.closeConnections { _ in true }
    }

    package func shutdown() async { await transport.shutdown() }

    private func exchange(for request: ControlRequest) throws(LoadError) -> ExchangeRequest {
        let url: RequestURL
        do {
            url = try RequestURL("https://\(request.gateway)\(request.target)")
        } catch {
            throw LoadError(.invalidRequest, "The gateway's address makes no URL.", underlying: error)
        }
        var exchange = ExchangeRequest(
            request.method, url, headerFields: request.headerFields, body: request.body.map(RequestBody.bytes))
        exchange.idleTimeout = request.timeout
        exchange.connectTimeout = min(request.timeout, .seconds(10))
        return exchange
    }

    /// The partition keeps control connections apart from those of the app's own requests.
    private func path(for request: ControlRequest) -> ConnectionPath {
        let trust: TrustAnchors =
            switch request.trust {
            case .anybody: .unverified
            case .authorities(let authorities): .gateway(authorities)
            }
        let number = request.isAlone ? Self.lastAlone.add(1, ordering: .relaxed).newValue : 0
        return ConnectionPath(
            trust: trust, identity: request.identity, partition: ConnectionPartition(.control(number)))
    }

    private static let lastAlone = Atomic<UInt64>(0)
}

extension LoadError {
    /// Whether the request cannot have reached the gateway.
    var isUnreachable: Bool {
        switch code {
        case .cannotFindHost, .cannotConnect: true
        case .idleTimeout, .resourceTimeout, .connectionLost: step == .connect || step == .nameLookup
        default: false
        }
    }

    /// Whether the error says that a certificate is not valid at this machine's time. The message has OpenSSL's words.
    package var isOfTime: Bool {
        let text = message.lowercased()
        return text.contains("not yet valid") || text.contains("has expired")
    }

    /// Converts to the error of activation and authorization.
    func asAuthorizationError(fileID: StaticString = #fileID, line: UInt = #line) -> AuthorizationError {
        switch code {
        case .cancelled: .cancelled(fileID: fileID, line: line)
        case .serverNotTrusted where !isOfTime:
            AuthorizationError(
                .authorityMismatch, .serverCommunicationFailed,
                "What answers as the gateway has no certificate of an authority that the app knows: the authority may have "
                    + "been replaced while the app was away.", underlying: self, fileID: fileID, line: line)
        case _ where isUnreachable:
            AuthorizationError(
                .unreachable, .noNetwork, "The gateway cannot be reached.", underlying: self, fileID: fileID,
                line: line)
        default:
            AuthorizationError(
                .communicationFailed, .serverCommunicationFailed, "The exchange with the gateway failed.",
                underlying: self, fileID: fileID, line: line)
        }
    }
}
