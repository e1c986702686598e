internal import HTTPTypes
internal import SallyportBase
package import SallyportCore
package import SallyportLoading
internal import SallyportTransport

extension Connector {
    /// Sends a request by the route that the policy names, and by no other.
    ///
    /// - Throws: `refusedByPolicy`, `notAuthorized` or `withdrawn`, before any connection is made or if the policy has
    ///   changed meanwhile; `proxyWithRelay`; and the error if no response came.
    package nonisolated func exchange(
        _ request: LoadRequest, in context: LoadContext, with ways: KnownWays
    ) async throws(LoadError) -> LoadResponse {
        guard let endpoint = request.url.endpoint else {
            throw LoadError(.unsupportedScheme, at: .routing, "Only http and https are loaded here.")
        }
        let known = try ways.way(to: endpoint, isSecure: request.url.isSecure, of: context.principal, asking: self)
        guard let secondary = known.secondary else {
            return try await exchange(request, to: endpoint, by: known, in: context, with: ways)
        }
        return try await known.way.firstReached(recorder: context.recorder) { isOfSecondary throws(LoadError) in
            let known = isOfSecondary ? secondary : known
            return try await self.exchange(request, to: endpoint, by: known, in: context, with: ways)
        }
    }

    @inline(__always)
    private nonisolated func exchange(
        _ request: LoadRequest, to endpoint: Endpoint, by known: KnownWays.Known, in context: LoadContext,
        with ways: KnownWays
    ) async throws(LoadError) -> LoadResponse {
        let proxy = context.hasNoProxies ? nil : context.proxies.proxy(for: request.url)
        guard known.way.relay == nil || proxy == nil else { throw Self.hasBoth }
        var fields = request.headerFields
        if let proxy, ways.settings.tellsProxiesAtOnce { try tell(proxy, request, in: context, &fields) }
        if context.isToBeSigned { await context.signer?.sign(&fields) }
        let order = order(for: request, saying: fields, by: known, through: proxy, in: context, with: ways)
        let (response, isByAppsWord): (ExchangeResponse, Bool)
        do throws(LoadError) {
            (response, isByAppsWord) = try await send(order, to: endpoint, in: context, with: ways)
        } catch {
            throw error.naming(known.way.restriction)
        }
        do throws(LoadError) {
            try confirm(known, OpenConnection(to: endpoint, through: known.way.relay?.cluster, tlsVersion: nil))
        } catch {
            response.body.discard()
            throw error
        }
        var facts = LoadFacts()
        facts.hops = response.hops
        facts.isForThisLoadOnly = isByAppsWord
        facts.decision = known.way.decision
        return LoadResponse(head: response.head, url: request.url, body: response.body, facts: facts)
    }

    /// A way that is still in force is not checked again: see ``AccessGate/confirm(_:_:)``.
    private nonisolated func confirm(
        _ known: KnownWays.Known, _ open: @autoclosure () -> OpenConnection
    ) throws(LoadError) {
        guard !known.isInForce else { return }
        try confirm(known.way, open())
    }

    static var hasBoth: LoadError {
        LoadError(
            .proxyWithRelay, at: .routing,
            "The server is reached through a relay, and the session has a proxy for it; make it an exception.")
    }

    /// Sends a proxy's credential with the request, by Basic (RFC 7617).
    private nonisolated func tell(
        _ proxy: Proxy, _ request: LoadRequest, in context: LoadContext, _ fields: inout HTTPFields
    ) throws(LoadError) {
        guard proxy.kind != .socks5, fields[.proxyAuthorization] == nil,
            proxy.isEncrypted || context.methods.allowsBasicOverPlainHTTP,
            let credential = request.options.proxyCredential ?? proxy.credential
        else { return }
        fields[.proxyAuthorization] = try credential.basicAuthorization().reveal()
    }

    /// The request for the transport, over the connections of the session and the principal.
    private nonisolated func order(
        for request: LoadRequest, saying fields: HTTPFields, by known: KnownWays.Known, through proxy: Proxy?,
        in context: LoadContext, with ways: KnownWays
    ) -> ExchangeOrder {
        var path = known.path
        var exchange = ExchangeRequest(request.method, request.url, headerFields: fields, body: request.body)
        if let proxy {
            let access = ProxyAccess(proxy, for: request, with: fields)
            path.proxy = access
            if access.user != nil {
                exchange.proxyAuthorization = fields[.proxyAuthorization].map { Redacted($0) }
            }
        }
        if let use = context.connection {
            let number = use.connection.number
            path.owner = number
            exchange.requiredConnection = use.required
            use.connection.closes { [client] in client.closeConnections { $0.owner == number } }
        }
        exchange.idleTimeout = context.idleTimeout
        exchange.deadline = context.deadline
        exchange.connectTimeout = ways.settings.connectTimeout
        exchange.connectionsPerOrigin = ways.settings.connectionsPerOrigin
        exchange.collectsUpTo = context.collectsUpTo
        exchange.control = context.control
        exchange.continueTimeout = request.differing?.options.continueTimeout
        return ExchangeOrder(
            request: exchange, path: path, known: known, proxy: proxy, recorder: context.recorder)
    }

    /// Sends the request, and again after each question of the TLS handshake that the app has answered.
    ///
    /// - Returns: the response, and whether the app's own decision allowed the connection, see
    ///   ``HandshakeDialogue/isByAppsWord``.
    @inline(__always)
    private nonisolated func send(
        _ order: ExchangeOrder, to endpoint: Endpoint, in context: LoadContext, with ways: KnownWays
    ) async throws(LoadError) -> (ExchangeResponse, Bool) {
        let asks =
            order.request.url.isSecure && mayBeAsked(order.path, ways.settings, hasResponder: context.responder != nil)
        guard !asks else { return try await ask(about: order, to: endpoint, in: context, with: ways) }
        do throws(LoadError) {
            guard order.recorder == nil else { return (try await order.send(with: client, via: order.path), false) }
            return (try await client.exchange(order.request, via: order.path), false)
        } catch {
            guard order.request.url.isSecure, error.underlying is ServerTrustEvaluation, store != nil else {
                throw error
            }
            return try await ask(about: order, to: endpoint, in: context, with: ways, after: error)
        }
    }

    /// - Parameter failure: of a try without questions; nil if there was none.
    private nonisolated func ask(
        about order: ExchangeOrder, to endpoint: Endpoint, in context: LoadContext, with ways: KnownWays,
        after failure: LoadError? = nil
    ) async throws(LoadError) -> (ExchangeResponse, Bool) {
        var dialogue = HandshakeDialogue(
            with: endpoint, asking: ConnectionQuestions(of: context), ways.settings, order.path, self)
        let response = try await dialogue.run(after: failure) { [client] path throws(LoadError) in
            try await order.send(with: client, via: path)
        }
        return (response, dialogue.isByAppsWord)
    }

    /// Whether a handshake may raise a question that is not settled by stored trust.
    nonisolated func mayBeAsked(_ path: ConnectionPath, _ settings: ConnectionSettings, hasResponder: Bool) -> Bool {
        hasResponder || hasDecisions || !settings.identities.isEmpty
            || path.versions.intersection(.standard) != path.versions
    }
}

/// One exchange, ready to be sent.
struct ExchangeOrder: Sendable {
    var request: ExchangeRequest
    var path: ConnectionPath
    var known: KnownWays.Known
    var proxy: Proxy?
    /// Records each try; nil if the load is not recorded.
    var recorder: LoadRecorder?

    func send(
        with client: any ExchangeClient, via path: ConnectionPath
    ) async throws(LoadError) -> ExchangeResponse {
        guard let recorder else { return try await client.exchange(request, via: path) }
        let decision = known.way.decision
        recorder.decided(.route, Connector.name(of: known.way, proxy), because: decision.map { "\($0.rule)" })
        let hop = recorder.began(request.method, request.url, by: decision)
        var request = request
        request.reporter = { [recorder] in recorder.ended(hop: hop, $0) }
        do throws(LoadError) {
            let response = try await client.exchange(request, via: path)
            recorder.answered(hop: hop, response.head.status)
            if response.facts.retries > 0 {
                recorder.decided(.retry, "\(LoadError.Code.connectionLost)", because: "the connection was used before")
            }
            return response
        } catch {
            // A request that never reached the transport has no report.
            recorder.failed(hop: hop, error)
            throw error
        }
    }
}
