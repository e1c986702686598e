internal import SallyportBase
internal import SallyportCore
internal import SallyportTransport

/// Tries to reach a server by each way that a policy gives: opens a connection, with TLS where it is asked for, sends nothing
/// over it and closes it.
struct ServerCheck: Sendable {
    let endpoint: Endpoint
    let isSecure: Bool
    /// Whether the server's certificate must be good. Nothing is sent to a server either way.
    var validatesCertificate = true
    /// Who may issue its certificate.
    var trust = TrustAnchors.system
    var limit: Duration

    /// All ways at once, each within the time.
    func run(_ access: ServerAccess) async -> [ServerReachability.Attempt] {
        let transport = Transport()
        let ways = paths(access)
        let attempts = await withTaskGroup(of: (Int, ServerReachability.Attempt).self) { group in
            for (number, path) in ways.enumerated() {
                group.addTask { (number, await attempt(path, with: transport)) }
            }
            var found: [(Int, ServerReachability.Attempt)] = []
            for await attempt in group { found.append(attempt) }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
        await transport.shutdown()
        return attempts
    }

    private func paths(_ access: ServerAccess) -> [ConnectionPath] {
        var path = ConnectionPath(partition: ConnectionPartition(.diagnostics))
        path.trust = validatesCertificate ? trust : .unverified
        guard let relay = access.relay else {
            path.addresses = access.decision.addresses
            return [path]
        }
        path.versions = path.versions.restricted(blocking: access.blockedTLSVersions, floor: access.tlsFloor)
        return relay.relays.sorted { $0.priority < $1.priority }.map { one in
            var path = path
            path.relay = RelayAccess(
                cluster: relay.cluster, relays: [one], authorities: relay.authorities, identity: relay.identity)
            return path
        }
    }

    private func attempt(_ path: ConnectionPath, with transport: Transport) async -> ServerReachability.Attempt {
        let start = ContinuousClock.now
        var request = TunnelRequest(to: endpoint, isSecure: isSecure)
        request.connectTimeout = limit
        let asked = request
        let outcome = await untilDeadline(start + limit) { () -> LoadError? in
            do throws(LoadError) {
                try await transport.tunnel(asked, via: path).close()
                return nil
            } catch {
                return error
            }
        }
        let relay = path.relay?.relays.first?.endpoint
        let duration = start.duration(to: .now)
        if Task.isCancelled {
            return .init(relay: relay, code: .cancelled, failure: .cancelled(), duration: duration)
        }
        guard case .some(let failure) = outcome else {
            let failure = LoadError(.resourceTimeout, at: .connect, "The server was not reached in time.")
            return .init(relay: relay, code: .timedOut, failure: failure, duration: duration)
        }
        let code = DiagnosticCode(failure, after: duration, of: limit)
        return .init(relay: relay, code: code, failure: failure, duration: duration)
    }
}
