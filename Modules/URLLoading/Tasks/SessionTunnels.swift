internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// The streams of bytes of one session and principal, by the policy and with the settings of its loads.
struct SessionTunnels: RoutedTunnels {
    /// Asks the policy; nil in the system session, which has none.
    let routing: RoutingStage?
    let client: any ExchangeClient
    let settings: ExchangeSettings
    var principal: Principal?

    func of(_ principal: Principal) -> SessionTunnels {
        var tunnels = self
        tunnels.principal = principal
        return tunnels
    }

    func open(_ request: RoutedTunnelRequest) async throws(LoadError) -> any RoutedTunnel {
        let way = try routing?.way(to: request.endpoint, isSecure: request.isSecure)
        var path = settings.path(
            of: principal ?? settings.principal, by: way?.decision, relay: way?.relay,
            versions: way?.versions ?? settings.versions.allowed(for: request.endpoint.host))
        path.versions = TLSVersionOffer(path.versions).first
        path.identity = settings.identities[request.endpoint.host]
        if let proxy = settings.proxies.proxy(for: request.endpoint.host, isSecure: request.isSecure) {
            guard way?.relay == nil else { throw RoutingStage.hasBoth }
            let isAllowed = routing?.gate.allows(.basic) ?? true
            let isReadable = !proxy.isEncrypted && !settings.allowsBasicOverPlainHTTP
            path.proxy = try isAllowed && !isReadable ? ProxyAccess(toldAtOnce: proxy) : ProxyAccess(untold: proxy)
        }
        var opening = TunnelRequest(to: request.endpoint, isSecure: request.isSecure)
        opening.connectTimeout = request.connectTimeout ?? settings.connectTimeout
        let tunnel = try await client.tunnel(opening, via: path)
        do throws(LoadError) {
            if let routing, let way { try routing.gate.confirm(way, tunnel.openConnection) }
        } catch {
            tunnel.close()
            throw error
        }
        return SessionTunnel(tunnel: tunnel, decision: way?.decision)
    }
}

private struct SessionTunnel: RoutedTunnel {
    let tunnel: Tunnel
    let decision: RouteDecision?

    func read() async throws(LoadError) -> [UInt8]? { try await tunnel.read() }
    func write(_ bytes: [UInt8]) async throws(LoadError) { try await tunnel.write(bytes) }
    func closeWrite() { tunnel.closeWrite() }
    func close() { tunnel.close() }
}
