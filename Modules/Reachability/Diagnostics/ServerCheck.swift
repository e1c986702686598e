internal import Logging
internal import SallyportBase
package import SallyportConnecting
package import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// Tries to reach a server by each way that a policy gives: opens a connection, with TLS if requested, sends nothing
/// over it and closes it.
package struct ServerCheck: Sendable {
    let endpoint: Endpoint
    let isSecure: Bool
    /// Whether the server's certificate must be good. Nothing is sent to a server either way.
    let validatesCertificate: Bool
    /// The authorities that the server's certificate may be issued by.
    let trust: TrustAnchors
    /// The time limit for each attempt.
    let limit: Duration

    package init(
        endpoint: Endpoint, isSecure: Bool, validatesCertificate: Bool = true, trust: TrustAnchors = .system,
        limit: Duration
    ) {
        self.endpoint = endpoint
        self.isSecure = isSecure
        self.validatesCertificate = validatesCertificate
        self.trust = trust
        self.limit = limit
    }

    /// Tries the direct way, or each relay of the cluster separately; all at the same time.
    ///
    /// Cancelling the task ends it, with the results found so far.
    package func run(through connector: Connector) async -> ServerReachability {
        let way: Way
        do throws(LoadError) {
            way = try connector.way(to: endpoint, isSecure: isSecure, with: settings)
        } catch {
            return ServerReachability(endpoint, by: error.deniedBy, [], else: DiagnosticCode(error))
        }
        let attempts = await withTaskGroup(of: (Int, ServerReachability.Attempt).self) { group in
            for (number, way) in way.apart.enumerated() {
                group.addTask { (number, await attempt(way, through: connector)) }
            }
            var found: [(Int, ServerReachability.Attempt)] = []
            for await attempt in group { found.append(attempt) }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
        return ServerReachability(endpoint, by: way.decision, attempts, else: .notReachable)
    }

    private var settings: ConnectionSettings {
        var settings = ConnectionSettings(scope: .diagnostics)
        settings.trust = validatesCertificate ? trust : .unverified
        return settings
    }

    private func attempt(_ way: Way, through connector: Connector) async -> ServerReachability.Attempt {
        let start = ContinuousClock.now
        var request = TunnelRequest(to: endpoint, isSecure: isSecure)
        request.connectTimeout = limit
        let (asked, settings) = (request, settings)
        let outcome = await untilDeadline(start + limit) { () -> LoadError? in
            do throws(LoadError) {
                try await connector.stream(asked, by: way, with: settings, asking: Self.questions).close()
                return nil
            } catch {
                return error
            }
        }
        let relay = way.relay?.relays.first?.endpoint
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

    private static var questions: ConnectionQuestions {
        ConnectionQuestions(principal: .instance, logger: Logger(label: "sallyport.diagnostics"))
    }
}

extension LoadError {
    /// The decision by which a policy refuses the server; nil for other failures.
    fileprivate var deniedBy: RouteDecision? {
        guard let denied = underlying as? AccessDenied, case .denied(let decision) = denied.reason else { return nil }
        return decision
    }
}
