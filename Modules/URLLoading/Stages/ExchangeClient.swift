internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// What the last stage sends requests with: `Transport`, or a test's stand-in for it.
protocol ExchangeClient: Sendable {
    func exchange(_ request: ExchangeRequest, via path: ConnectionPath) async throws(LoadError) -> ExchangeResponse
    func tunnel(_ request: TunnelRequest, via path: ConnectionPath) async throws(LoadError) -> Tunnel
    /// Lets no new exchange use the connections of these paths.
    func closeConnections(where isAffected: @escaping @Sendable (ConnectionPath) -> Bool)
    /// Ends the exchanges of these paths with `failure`, those whose body streams included.
    func endExchanges(with failure: LoadError, where isAffected: @escaping @Sendable (ConnectionPath) -> Bool)
    /// Does to all of them what a change of access asks for: ends them, or those that the new rules refuse.
    func follow(_ change: AccessChange, of gate: any AccessGate)
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
    /// For streams of bytes; those of loads are in their context.
    var proxies: ProxySettings = .none
    /// Whether such a proxy is told a password where others read it.
    var allowsBasicOverPlainHTTP = false
    var connectTimeout: Duration
    var connectionsPerOrigin = 6
    /// Names the session, so that its connections can be told from others.
    var tag: String
    /// In whose name the session loads where a request does not say.
    var principal: Principal

    /// Sends the request over the connections of the session and the principal.
    func exchange(
        _ request: LoadRequest, in context: LoadContext, by decision: RouteDecision? = nil, relay: RelayAccess?,
        proxy: Proxy?, versions: TLSVersions, with client: some ExchangeClient
    ) async throws(LoadError) -> LoadResponse {
        var fields = request.headerFields
        context.signer?.sign(&fields)
        var path = path(of: context.principal, by: decision, relay: relay, versions: versions)
        path.proxy = proxy.map { ProxyAccess($0, for: request, with: fields) }
        var exchange = ExchangeRequest(request.method, request.url, headerFields: fields, body: request.body)
        if path.proxy?.user != nil {
            exchange.proxyAuthorization = fields[.proxyAuthorization].map { Redacted($0) }
        }
        if let use = context.connection {
            let number = use.connection.number
            path.owner = number
            exchange.requiredConnection = use.required
            use.connection.closes { client.closeConnections { $0.owner == number } }
        }
        exchange.idleTimeout = context.idleTimeout
        exchange.deadline = context.deadline
        exchange.connectTimeout = connectTimeout
        exchange.connectionsPerOrigin = connectionsPerOrigin
        exchange.collectsUpTo = context.collectsUpTo
        exchange.control = context.control
        exchange.continueTimeout = request.differing?.options.continueTimeout
        let (response, isByAppsWord): (ExchangeResponse, Bool)
        if let recorder = context.recorder {
            let client = RecordingClient(client: client, recorder: recorder, decision: decision, proxy: proxy)
            (response, isByAppsWord) = try await send(exchange, of: request, in: context, via: path, with: client)
        } else {
            (response, isByAppsWord) = try await send(exchange, of: request, in: context, via: path, with: client)
        }
        var facts = LoadFacts()
        facts.hops = [response.facts]
        facts.isForThisLoadOnly = isByAppsWord
        return LoadResponse(head: response.head, url: request.url, body: response.body, facts: facts)
    }

    /// The connections of the session and a principal.
    ///
    /// - Parameter decision: nil where no policy was asked.
    func path(
        of principal: Principal, by decision: RouteDecision?, relay: RelayAccess?, versions: TLSVersions
    ) -> ConnectionPath {
        let partition = principal == self.principal ? tag : "\(tag)/\(principal.name)"
        var path = ConnectionPath(
            relay: relay, versions: versions, trust: trust, pins: pins, revocation: revocation, partition: partition)
        if relay == nil { path.addresses = decision?.addresses }
        return path
    }

    /// With the questions of TLS, as often as they need.
    ///
    /// - Returns: the answer, and whether the connection came about by a word of the app's, see
    ///   ``HandshakeDialogue/isByAppsWord``.
    private func send(
        _ exchange: ExchangeRequest, of request: LoadRequest, in context: LoadContext, via path: ConnectionPath,
        with client: some ExchangeClient
    ) async throws(LoadError) -> (ExchangeResponse, Bool) {
        guard request.url.isSecure, let endpoint = request.url.endpoint else {
            return (try await client.exchange(exchange, via: path), false)
        }
        guard mayBeAsked(path, context) else {
            do throws(LoadError) {
                return (try await client.exchange(exchange, via: path), false)
            } catch {
                guard error.underlying is ServerTrustEvaluation, decisions.store != nil else { throw error }
                var dialogue = HandshakeDialogue(with: endpoint, for: request, in: context, settings: self, path: path)
                let response = try await dialogue.exchange(exchange, after: error, with: client)
                return (response, dialogue.isByAppsWord)
            }
        }
        var dialogue = HandshakeDialogue(with: endpoint, for: request, in: context, settings: self, path: path)
        let response = try await dialogue.exchange(exchange, with: client)
        return (response, dialogue.isByAppsWord)
    }

    /// Whether anything of a handshake may be put in question, but what is trusted for good.
    private func mayBeAsked(_ path: ConnectionPath, _ context: LoadContext) -> Bool {
        context.responder != nil || !decisions.isEmpty || !identities.isEmpty
            || path.versions.intersection(.standard) != path.versions
    }

    /// Whether connections of the partition are of the session with this tag.
    static func isOf(_ tag: String, _ partition: String) -> Bool {
        partition == tag || partition.hasPrefix("\(tag)/") || partition.hasPrefix("\(tag)#")
    }
}
