internal import SallyportCore
internal import SallyportTransport

/// What the last stage sends requests with: `Transport`, or a test's stand-in for it.
protocol ExchangeClient: Sendable {
    func exchange(_ request: ExchangeRequest, via path: ConnectionPath) async throws(LoadError) -> ExchangeResponse
    func tunnel(_ request: TunnelRequest, via path: ConnectionPath) async throws(LoadError) -> Tunnel
    /// Lets no new exchange use the connections of these paths.
    func closeConnections(where isAffected: @escaping @Sendable (ConnectionPath) -> Bool)
    /// Ends the exchanges of these paths with `failure`, those whose body streams included.
    func endExchanges(with failure: LoadError, where isAffected: @escaping @Sendable (ConnectionPath) -> Bool)
    func shutdown() async
}

extension Transport: ExchangeClient {}

/// What a session says about its exchanges.
struct ExchangeSettings: Sendable {
    var versions = TLSVersionRules()
    var trust: TrustAnchors
    var pins: [Host: Set<PublicKeyPin>] = [:]
    var revocation = RevocationRules()
    /// What servers are shown that ask for a certificate.
    var identities: [Host: ClientIdentity] = [:]
    var decisions = ConnectionDecisions()
    var connectTimeout: Duration
    var connectionsPerOrigin = 6
    /// Names the session, so that its connections can be told from others.
    var tag: String
    /// In whose name the session loads where a request does not say.
    var principal: Principal

    /// Sends the request over the connections of the session and the principal.
    func exchange(
        _ request: LoadRequest, in context: LoadContext, relay: RelayAccess?, versions: TLSVersions,
        with client: some ExchangeClient
    ) async throws(LoadError) -> LoadResponse {
        let path = path(of: context.principal, relay: relay, versions: versions)
        var exchange = ExchangeRequest(
            request.method, request.url, headerFields: request.headerFields, body: request.body)
        exchange.idleTimeout = context.idleTimeout
        exchange.deadline = context.deadline
        exchange.connectTimeout = connectTimeout
        exchange.connectionsPerOrigin = connectionsPerOrigin
        exchange.collectsUpTo = context.collectsUpTo
        exchange.control = context.control
        exchange.continueTimeout = request.options.continueTimeout
        let response: ExchangeResponse
        if request.url.isSecure, let endpoint = request.url.endpoint {
            var dialogue = HandshakeDialogue(with: endpoint, for: request, in: context, settings: self, path: path)
            response = try await dialogue.exchange(exchange, with: client)
        } else {
            response = try await client.exchange(exchange, via: path)
        }
        var facts = LoadFacts()
        facts.hops = [response.facts]
        return LoadResponse(head: response.head, url: request.url, body: response.body, facts: facts)
    }

    /// The connections of the session and a principal.
    func path(of principal: Principal, relay: RelayAccess?, versions: TLSVersions) -> ConnectionPath {
        let partition = principal == self.principal ? tag : "\(tag)/\(principal.name)"
        return ConnectionPath(
            relay: relay, versions: versions, trust: trust, pins: pins, revocation: revocation, partition: partition)
    }

    /// Whether connections of the partition are of the session with this tag.
    static func isOf(_ tag: String, _ partition: String) -> Bool {
        partition == tag || partition.hasPrefix("\(tag)/") || partition.hasPrefix("\(tag)#")
    }
}
