internal import HTTPTypes
internal import SallyportCore
internal import SallyportTransport

/// Decides relay, direct or deny before any connection is made, and sends the request that way and no other.
struct RoutingStage: LoadStage {
    let gate: any AccessGate
    let client: any ExchangeClient
    let settings: ExchangeSettings

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        guard let endpoint = request.url.endpoint else { throw Self.unsupported }
        let access = try admitted { () throws(AccessDenied) in try gate.access(to: endpoint) }
        let relay = try relay(of: access)
        let versions = try versions(for: request.url, access)
        var response = try await settings.exchange(
            request, in: context, relay: relay, versions: versions, with: client)
        // A withdrawal between the question and the exchange's start found nothing to end.
        do throws(LoadError) {
            try admitted { () throws(AccessDenied) in try gate.checkAuthorized() }
        } catch {
            response.body.discard()
            throw error
        }
        response.facts.decision = access.decision
        return response
    }

    static var unsupported: LoadError {
        LoadError(.unsupportedScheme, at: .routing, "Only http and https are loaded here.")
    }

    private func admitted<Value>(_ ask: () throws(AccessDenied) -> Value) throws(LoadError) -> Value {
        do throws(AccessDenied) {
            return try ask()
        } catch {
            throw LoadError(error)
        }
    }

    /// The relays where the route has some; never none, which would be a direct connection.
    private func relay(of access: ServerAccess) throws(LoadError) -> RelayAccess? {
        switch access.decision.route {
        case .direct: return nil
        case .deny: throw LoadError(AccessDenied(.denied(access.decision)))
        case .relay:
            guard let relay = access.relay else {
                throw LoadError(.relayUnreachable, at: .routing, "The cluster of the route has no relay.")
            }
            return relay
        }
    }

    /// What settings, blocks and floor leave; blocks and floor hold on relayed connections.
    private func versions(for url: RequestURL, _ access: ServerAccess) throws(LoadError) -> TLSVersions {
        guard url.isSecure, let host = url.endpoint?.host else { return .standard }
        var versions = settings.versions.allowed(for: host)
        if access.relay != nil, !access.blockedTLSVersions.isEmpty || access.tlsFloor != nil {
            versions = versions.restricted(blocking: access.blockedTLSVersions, floor: access.tlsFloor)
        }
        guard !versions.allowed.isEmpty else {
            throw LoadError(.noCommonTLSVersion, at: .routing, "Settings and policy leave no version of TLS to offer.")
        }
        return versions
    }
}

/// Sends every request straight from this machine: the last stage of the system session.
struct DirectStage: LoadStage {
    let client: any ExchangeClient
    let settings: ExchangeSettings

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        guard let endpoint = request.url.endpoint else { throw RoutingStage.unsupported }
        let versions = request.url.isSecure ? settings.versions.allowed(for: endpoint.host) : .standard
        guard !versions.allowed.isEmpty else {
            throw LoadError(.noCommonTLSVersion, at: .routing, "The session's settings leave no version of TLS.")
        }
        return try await settings.exchange(request, in: context, relay: nil, versions: versions, with: client)
    }
}
