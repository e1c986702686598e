internal import SallyportBase
package import SallyportCore
internal import SallyportLoading
package import SallyportTransport

extension Connector {
    /// Opens a stream of bytes by the route that the policy names, and by no other.
    ///
    /// Cancelling the task gives it up.
    ///
    /// - Throws: `refusedByPolicy`, `notAuthorized` or `withdrawn`, before any connection is made or where the policy has
    ///   changed meanwhile; `proxyWithRelay`; and why no connection came about.
    package nonisolated func tunnel(
        _ request: TunnelRequest, with settings: ConnectionSettings, asking questions: ConnectionQuestions
    ) async throws(LoadError) -> (tunnel: Tunnel, decision: RouteDecision?) {
        let way = try way(to: request.endpoint, isSecure: request.isSecure, with: settings)
        return (try await tunnel(request, by: way, with: settings, asking: questions), way.decision)
    }

    /// Opens a stream of bytes by a way that the policy gave just now.
    ///
    /// - Throws: as ``tunnel(_:with:asking:)``.
    package nonisolated func tunnel(
        _ request: TunnelRequest, by way: Way, with settings: ConnectionSettings, asking questions: ConnectionQuestions
    ) async throws(LoadError) -> Tunnel {
        var path = settings.path(of: questions.principal, by: way)
        path.proxy = try proxyAccess(for: request, by: way, with: settings)
        let tunnel = try await open(request, via: path, with: settings, asking: questions)
        do throws(LoadError) {
            try confirm(way, tunnel.openConnection)
        } catch {
            tunnel.reset()
            throw error
        }
        return tunnel
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
        return try isAllowed && !isReadable ? ProxyAccess(toldAtOnce: proxy) : ProxyAccess(untold: proxy)
    }

    private nonisolated func open(
        _ request: TunnelRequest, via path: ConnectionPath, with settings: ConnectionSettings,
        asking questions: ConnectionQuestions
    ) async throws(LoadError) -> Tunnel {
        guard request.isSecure else { return try await client.tunnel(request.withinDeadline(), via: path) }
        var dialogue = HandshakeDialogue(with: request.endpoint, asking: questions, settings, path, self)
        return try await dialogue.run { [client] path throws(LoadError) in
            try await client.tunnel(request.withinDeadline(), via: path)
        }
    }
}

extension TunnelRequest {
    /// With no more time to connect than is left of the tunnel's life.
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
