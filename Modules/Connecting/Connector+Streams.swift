internal import SallyportBase
package import SallyportCore
package import SallyportLoading
package import SallyportTransport

extension Connector {
    /// Opens a byte stream by the route that the policy names, and by no other.
    ///
    /// Cancelling the task gives the attempt up.
    ///
    /// - Throws: `refusedByPolicy`, `notAuthorized`, `withdrawn` or `sessionInvalidated`, before any connection is made
    ///   or if the policy has changed, or the session has ended, meanwhile; `proxyWithRelay`; and the error if no
    ///   connection was made.
    package nonisolated func stream(
        _ request: TunnelRequest, with settings: ConnectionSettings, asking questions: ConnectionQuestions
    ) async throws(LoadError) -> ByteStream {
        var request = request
        if let gate { request.endpoint = gate.completed(request.endpoint) }
        do throws(LoadError) {
            let way = try way(to: request.endpoint, isSecure: request.isSecure, with: settings)
            guard let secondary = way.bySecondary else {
                return try await stream(request, by: way, with: settings, asking: questions)
            }
            return try await way.firstReached(recorder: questions.recorder) {
                [request] cluster throws(LoadError) in
                let way = cluster.isOfSecondary ? secondary : way
                // The first one took its time to fail: the policy may not name the other any more.
                if !cluster.isFirst { try self.confirm(way, to: request.endpoint, with: settings) }
                var request = request
                request.hasOtherCluster = cluster.isFirst
                return try await self.stream(request, by: way, with: settings, asking: questions)
            }
        } catch {
            questions.recorder?.ended(.failed(error))
            throw error
        }
    }

    /// Opens a byte stream by a way that the policy has just given.
    ///
    /// - Throws: as ``stream(_:with:asking:)`` does.
    package nonisolated func stream(
        _ request: TunnelRequest, by way: Way, with settings: ConnectionSettings, asking questions: ConnectionQuestions
    ) async throws(LoadError) -> ByteStream {
        let period = withdrawals.period
        try settings.permission?.check()
        var path = settings.path(of: questions.principal, by: way)
        path.proxy = try proxyAccess(for: request, by: way, with: settings)
        let order = StreamOrder(
            request: request, decision: way.decision, route: Self.name(of: way, path.proxy?.proxy),
            recorder: questions.recorder)
        let tunnel: Tunnel
        do throws(LoadError) {
            tunnel = try await open(order, by: way, via: path, with: settings, asking: questions)
        } catch {
            throw error.naming(way.restriction)
        }
        try confirm(way, tunnel, with: settings, questions.recorder)
        questions.recorder?.opened()
        var later = ByteStream.Settings(decision: way.decision)
        later.disabledChecks = settings.disabledChecks
        later.closeTimeout = settings.closeTimeout
        later.recorder = questions.recorder
        later.period = period
        later.startTLS = { start throws(LoadError) in
            var start = start
            if start.applicationProtocols == nil { start.applicationProtocols = request.applicationProtocols }
            try await self.startTLS(
                start, on: tunnel, with: settings, asking: questions.renewed(until: request.deadline))
        }
        return ByteStream(over: tunnel, later)
    }

    /// Begins TLS on an open stream. The policy and the session are asked before and after, as for a new connection.
    private nonisolated func startTLS(
        _ start: TLSStart, on tunnel: Tunnel, with settings: ConnectionSettings, asking questions: ConnectionQuestions
    ) async throws(LoadError) {
        try settings.permission?.check()
        var way = try way(to: tunnel.endpoint, isSecure: true, with: settings)
        if let second = way.bySecondary, second.relay?.cluster == tunnel.openConnection.cluster { way = second }
        try await tunnel.prepareTLS(within: start.timeout)
        do throws(LoadError) {
            guard way.relay?.cluster == tunnel.openConnection.cluster else { throw Self.ledElsewhere }
            var dialogue = HandshakeDialogue(
                with: tunnel.endpoint, asking: questions, settings, settings.path(of: questions.principal, by: way),
                self, canReconnect: false)
            try await dialogue.run { path throws(LoadError) in
                try await tunnel.handshake(via: path, start.applicationProtocols ?? [])
            }
        } catch {
            questions.recorder?.ended(.failed(error))
            tunnel.reset()
            throw error.naming(way.restriction)
        }
        try confirm(way, tunnel, with: settings, questions.recorder)
    }

    private static var ledElsewhere: LoadError {
        LoadError(.refusedByPolicy, at: .routing, "The policy leads to the server by another route now.")
    }

    /// Ends a tunnel that the present policy refuses, or whose session has ended while there was no tunnel to end.
    private nonisolated func confirm(
        _ way: Way, _ tunnel: Tunnel, with settings: ConnectionSettings, _ recorder: LoadRecorder?
    ) throws(LoadError) {
        do throws(LoadError) {
            try confirm(way, tunnel.openConnection)
            try settings.permission?.check()
        } catch {
            recorder?.ended(.failed(error))
            tunnel.reset()
            throw error
        }
    }

    private nonisolated func proxyAccess(
        for request: TunnelRequest, by way: Way, with settings: ConnectionSettings
    ) throws(LoadError) -> ProxyAccess? {
        guard let proxy = settings.proxies.proxy(for: request.endpoint.host, isSecure: request.isSecure) else {
            return nil
        }
        guard way.relay == nil else { throw Self.hasBoth }
        let isAllowed = gate?.allows(.basic) ?? true
        let isReadable = !proxy.isEncrypted && !settings.allowsBasicOverPlainHTTP
        return try isAllowed && !isReadable ? ProxyAccess(withCredentialOf: proxy) : ProxyAccess(withoutBasicTo: proxy)
    }

    private nonisolated func open(
        _ order: StreamOrder, by way: Way, via path: ConnectionPath, with settings: ConnectionSettings,
        asking questions: ConnectionQuestions
    ) async throws(LoadError) -> Tunnel {
        guard order.request.isSecure else { return try await order.open(with: client, via: path) }
        var dialogue = HandshakeDialogue(with: order.request.endpoint, asking: questions, settings, path, self)
        return try await dialogue.run { [client] path throws(LoadError) -> Tunnel in
            // The app may have taken its time to answer: no connection is made by a way that has ended meanwhile.
            try self.confirm(way, to: order.request.endpoint, with: settings)
            return try await order.open(with: client, via: path)
        }
    }

    /// Asks the policy and the session again, before there is a connection.
    private nonisolated func confirm(
        _ way: Way, to endpoint: Endpoint, with settings: ConnectionSettings
    ) throws(LoadError) {
        let open = OpenConnection(
            to: endpoint, through: way.relay?.cluster, tlsVersion: nil, needsRule: settings.scope.needsRule)
        try confirm(way, open)
        try settings.permission?.check()
    }
}

/// One stream, ready to be opened.
private struct StreamOrder: Sendable {
    var request: TunnelRequest
    var decision: RouteDecision?
    /// The route's name in records.
    var route: String
    /// Takes note of each try; nil if no record is asked for.
    var recorder: LoadRecorder?

    func open(with client: any ExchangeClient, via path: ConnectionPath) async throws(LoadError) -> Tunnel {
        var request = try request.withinDeadline()
        guard let recorder else { return try await client.tunnel(request, via: path) }
        recorder.decided(.route, route, because: decision.map { "\($0.rule)" })
        let hop = recorder.began(request.endpoint, isSecure: request.isSecure, by: decision)
        request.reporter = { [recorder] report in
            recorder.took(report.received.body)
            recorder.ended(hop: hop, report)
            if let end = report.streamEnd { recorder.ended(end) }
        }
        do throws(LoadError) {
            return try await client.tunnel(request, via: path)
        } catch {
            // A request that never reached the transport has no report.
            recorder.failed(hop: hop, error)
            throw error
        }
    }
}

extension LoadRecorder {
    /// Records a stream; nil if no record is wanted.
    ///
    /// - Parameter listener: called once with the record, when the stream is over.
    package convenience init?(of request: TunnelRequest, for listener: (@Sendable (LoadRecord) -> Void)?) {
        guard let listener else { return nil }
        self.init(streamTo: request.endpoint, isSecure: request.isSecure)
        whenEnded(listener)
    }
}

extension TunnelRequest {
    /// The request, with its time to connect limited to what is left of the tunnel's life.
    fileprivate func withinDeadline() throws(LoadError) -> TunnelRequest {
        guard let deadline else { return self }
        let rest = ContinuousClock.now.duration(to: deadline)
        guard rest > .zero else {
            throw LoadError(.resourceTimeout, at: .connect, "The time for the whole stream is over.")
        }
        var request = self
        request.connectTimeout = min(connectTimeout, rest)
        return request
    }
}
