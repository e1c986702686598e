internal import HTTPTypes
internal import SallyportBase
package import SallyportCore
package import SallyportLoading
package import SallyportTransport

extension Connector {
    /// Sends a request by the route that the policy names, and by no other.
    ///
    /// - Throws: `refusedByPolicy`, `notAuthorized` or `withdrawn`, before any connection is made or if the policy has
    ///   changed meanwhile; `proxyWithRelay`; and the error if no response came.
    package nonisolated func exchange(
        _ request: LoadRequest, in context: LoadContext, with ways: KnownWays
    ) async throws(LoadError) -> LoadResponse {
        let known = try known(for: request, in: context, with: ways)
        return try await exchange(request, by: known, in: context, with: ways)
    }

    /// The way of a request under the present policy.
    package nonisolated func known(
        for request: LoadRequest, in context: LoadContext, with ways: KnownWays
    ) throws(LoadError) -> KnownWays.Known {
        guard let endpoint = request.url.endpoint else {
            throw LoadError(.unsupportedScheme, at: .routing, "Only http and https are loaded here.")
        }
        return try ways.way(to: endpoint, isSecure: request.url.isSecure, of: context.principal, asking: self)
    }

    /// Sends a request by a way.
    ///
    /// - Parameter failure: of a try without questions; nil if there was none.
    package nonisolated func exchange(
        _ request: LoadRequest, by known: KnownWays.Known, in context: LoadContext, with ways: KnownWays,
        after failure: LoadError? = nil
    ) async throws(LoadError) -> LoadResponse {
        guard let secondary = known.secondary else {
            return try await send(request, by: known, in: context, with: ways, after: failure)
        }
        return try await known.way.firstReached(recorder: context.recorder) { cluster throws(LoadError) in
            let known = cluster.isOfSecondary ? secondary : known
            // The first one took its time to fail: the policy may not name the other any more.
            if !cluster.isFirst { try self.confirm(known, with: ways) }
            return try await self.send(request, by: known, in: context, with: ways, hasOtherCluster: cluster.isFirst)
        }
    }

    private nonisolated func send(
        _ request: LoadRequest, by known: KnownWays.Known, in context: LoadContext, with ways: KnownWays,
        after failure: LoadError? = nil, hasOtherCluster: Bool = false
    ) async throws(LoadError) -> LoadResponse {
        let proxy = try proxy(for: request, by: known, in: context)
        var fields = try fields(of: request, through: proxy, in: context, with: ways)
        if context.isToBeSigned {
            await context.signer?.sign(&fields)
            try confirm(known, with: ways)
        }
        var (exchange, path) = order(for: request, saying: fields, by: known, through: proxy, in: context, with: ways)
        exchange.hasOtherCluster = hasOtherCluster
        let order = ExchangeOrder(request: exchange, path: path, known: known, proxy: proxy, recorder: context.recorder)
        let (response, isDecidedByApp): (ExchangeResponse, Bool)
        do throws(LoadError) {
            (response, isDecidedByApp) = try await send(
                order, to: known.endpoint, in: context, with: ways, after: failure)
        } catch {
            throw error.naming(known.way.restriction)
        }
        let answer = try answer(response, to: request, by: known, with: ways, isDecidedByApp: isDecidedByApp)
        guard let signer = context.signer else { return answer }
        return try await Self.examined(answer, by: signer)
    }

    /// The server's own proof is checked here, below the stages that store answers: what fails the check must neither
    /// be stored nor confirm what is stored.
    private static func examined(
        _ answer: LoadResponse, by signer: any RequestSigner
    ) async throws(LoadError) -> LoadResponse {
        do throws(LoadError) {
            return try await signer.examined(answer)
        } catch {
            answer.body.discard()
            throw error
        }
    }

    // MARK: Straight on

    /// Whether nothing has to be awaited before a request is sent, and nothing is recorded. If not,
    /// ``exchange(_:by:in:with:after:)`` sends the request.
    package nonisolated func goesStraight(
        _ known: KnownWays.Known, in context: LoadContext, with ways: KnownWays
    ) -> Bool {
        guard known.secondary == nil, !context.isToBeSigned, context.recorder == nil else { return false }
        return !known.isSecure || !mayBeAsked(known.path, ways.settings, hasResponder: context.hasResponder)
    }

    /// The request for the transport and its path, of a request that ``goesStraight(_:in:with:)``.
    package nonisolated func straightOrder(
        for request: LoadRequest, by known: KnownWays.Known, in context: LoadContext, with ways: KnownWays
    ) throws(LoadError) -> (ExchangeRequest, ConnectionPath) {
        let proxy = try proxy(for: request, by: known, in: context)
        let fields = try fields(of: request, through: proxy, in: context, with: ways)
        return order(for: request, saying: fields, by: known, through: proxy, in: context, with: ways)
    }

    /// The answer for the stages, once the policy has confirmed the way and the session still lasts. A session that
    /// ends just before its request reaches the transport finds no exchange there to end.
    package nonisolated func answer(
        _ response: consuming ExchangeResponse, to request: LoadRequest, by known: KnownWays.Known,
        with ways: KnownWays, isDecidedByApp: Bool = false
    ) throws(LoadError) -> LoadResponse {
        do throws(LoadError) {
            try confirm(known, with: ways)
        } catch {
            response.body.discard()
            throw error
        }
        var facts = LoadFacts()
        facts.hops = response.hops
        facts.isForThisLoadOnly = isDecidedByApp
        facts.decision = known.decision
        return LoadResponse(head: response.head, url: request.url, body: response.body, facts: facts)
    }

    /// Asks the policy and the session again. A way that is still in force is not checked again: see
    /// ``AccessGate/confirm(_:_:)``.
    private nonisolated func confirm(_ known: KnownWays.Known, with ways: KnownWays) throws(LoadError) {
        if !known.isInForce {
            try confirm(
                known.way, OpenConnection(to: known.endpoint, through: known.way.relay?.cluster, tlsVersion: nil))
        }
        try ways.checkSession()
    }

    // MARK: The request

    private nonisolated func proxy(
        for request: LoadRequest, by known: KnownWays.Known, in context: LoadContext
    ) throws(LoadError) -> Proxy? {
        guard !context.hasNoProxies, let proxy = context.proxies.proxy(for: request.url) else { return nil }
        guard !known.isRelayed else { throw Self.hasBoth }
        return proxy
    }

    private nonisolated func fields(
        of request: LoadRequest, through proxy: Proxy?, in context: LoadContext, with ways: KnownWays
    ) throws(LoadError) -> HTTPFields {
        var fields = request.headerFields
        if let proxy, ways.settings.sendsProxyCredentialsUnasked {
            try addCredential(of: proxy, for: request, in: context, to: &fields)
        }
        return fields
    }

    static var hasBoth: LoadError {
        LoadError(
            .proxyWithRelay, at: .routing,
            "The server is reached through a relay, and the session has a proxy for it; make it an exception.")
    }

    /// Sends a proxy's credential with the request, by Basic (RFC 7617).
    private nonisolated func addCredential(
        of proxy: Proxy, for request: LoadRequest, in context: LoadContext, to fields: inout HTTPFields
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
    ) -> (ExchangeRequest, ConnectionPath) {
        var path = known.path
        var exchange = ExchangeRequest(request.method, request.url, headerFields: fields, body: request.body)
        if let proxy {
            let access = ProxyAccess(proxy, for: request, with: fields, of: context.signer?.proxyUser)
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
        return (exchange, path)
    }

    // MARK: Questions

    /// Sends the request, and again after each question of the TLS handshake that the app has answered.
    ///
    /// - Returns: the response, and whether the app's own decision allowed the connection, see
    ///   ``HandshakeDialogue/isDecidedByApp``.
    private nonisolated func send(
        _ order: ExchangeOrder, to endpoint: Endpoint, in context: LoadContext, with ways: KnownWays,
        after failure: LoadError?
    ) async throws(LoadError) -> (ExchangeResponse, Bool) {
        let isSecure = order.request.url.isSecure
        if failure == nil, isSecure, mayBeAsked(order.path, ways.settings, hasResponder: context.hasResponder) {
            return try await ask(about: order, to: endpoint, in: context, with: ways)
        }
        do throws(LoadError) {
            if let failure { throw failure }
            return (try await order.send(with: client, via: order.path), false)
        } catch {
            guard isSecure, error.underlying is ServerTrustEvaluation, store != nil else { throw error }
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
        let response = try await dialogue.run(after: failure) {
            [client] path throws(LoadError) -> ExchangeResponse in
            // The app may have taken its time to answer: no connection is made by a way that has ended meanwhile.
            try self.confirm(order.known, with: ways)
            return try await order.send(with: client, via: path)
        }
        return (response, dialogue.isDecidedByApp)
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
                recorder.decided(.retry, "\(LoadError.Code.connectionLost)", because: "no answer had begun")
            }
            return response
        } catch {
            // A request that never reached the transport has no report.
            recorder.failed(hop: hop, error)
            throw error
        }
    }
}

/// The settings of a session, and the ways that its last requests took: the policy is asked once for each, the path of
/// its connections is built once, and both are used as long as that policy is in force.
package final class KnownWays: Sendable {
    /// A way to a server in the name of a principal. One object, which requests share.
    package final class Known: Sendable {
        let endpoint: Endpoint
        let isSecure: Bool
        let principal: Principal
        let way: Way
        let path: ConnectionPath
        /// The way through the secondary cluster; nil if there is none.
        let secondary: Known?
        // What each request asks of the way. Reading it from the way itself would copy the whole way.
        let isRelayed: Bool
        let decision: RouteDecision?
        private let hasPolicy: Bool
        private let edition: PolicyEdition?

        init(
            to endpoint: Endpoint, isSecure: Bool, of principal: Principal, by way: Way, via path: ConnectionPath,
            or secondary: Known? = nil
        ) {
            (self.endpoint, self.isSecure, self.principal) = (endpoint, isSecure, principal)
            (self.way, self.path, self.secondary) = (way, path, secondary)
            (isRelayed, decision) = (way.relay != nil, way.decision)
            (hasPolicy, edition) = (way.answer != nil, way.answer?.edition)
        }

        func leads(to endpoint: Endpoint, isSecure: Bool, of principal: Principal) -> Bool {
            self.endpoint.port == endpoint.port && self.isSecure == isSecure && self.endpoint.host == endpoint.host
                && self.principal == principal
        }

        /// Whether the policy would give the same answer again. Without a policy, nothing can change.
        var isInForce: Bool {
            guard hasPolicy else { return true }
            return edition?.isInForce ?? false
        }

        /// Whether another way has the same path: all of what a path takes from policy and request.
        func hasPath(of other: Way, _ principal: Principal) -> Bool {
            self.principal == principal && way.versions == other.versions && way.relay == other.relay
                && way.decision?.addresses == other.decision?.addresses
        }
    }

    let settings: ConnectionSettings
    /// The permission in the settings, which each request asks. Reading it from the settings would copy all of them.
    private let permission: (any SessionPermission)?
    private let book: WayBook
    private let page: Int

    package init(_ settings: ConnectionSettings, of connector: Connector) {
        self.settings = settings
        permission = settings.permission
        book = connector.ways
        page = book.addPage()
    }

    deinit { book.removePage(page) }

    /// Throws once the session has ended.
    package func checkSession() throws(LoadError) { try permission?.check() }

    /// The way to a server and its path: a known one that is in force, or else the policy's current answer.
    ///
    /// - Throws: as ``Connector/way(to:isSecure:with:)``.
    func way(
        to endpoint: Endpoint, isSecure: Bool, of principal: Principal, asking connector: Connector
    ) throws(LoadError) -> Known {
        let last = book.first(on: page) { $0.leads(to: endpoint, isSecure: isSecure, of: principal) }
        if let last, last.isInForce { return last }
        let way = try connector.way(to: endpoint, isSecure: isSecure, with: settings)
        let like = book.first(on: page) { $0.hasPath(of: way, principal) }
        let path = like?.path ?? settings.path(of: principal, by: way)
        let secondary = way.bySecondary.map { way in
            Known(
                to: endpoint, isSecure: isSecure, of: principal, by: way, via: settings.path(of: principal, by: way))
        }
        let new = Known(to: endpoint, isSecure: isSecure, of: principal, by: way, via: path, or: secondary)
        // If the gate must be asked each time, only the path is reused.
        if like == nil || way.answer?.edition != nil { keep(new, insteadOf: last) }
        return new
    }

    private func keep(_ new: Known, insteadOf last: Known?) {
        book.add(new, insteadOf: last, on: page)
        // Entries that were removed while the policy was asked must not be added again.
        if new.way.answer?.edition?.isInForce == false { book.remove(new, from: page) }
    }

    var count: Int { book.count(on: page) }
}
