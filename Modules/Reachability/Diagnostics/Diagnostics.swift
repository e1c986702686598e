public import SallyportAuthorization
public import SallyportConnecting
public import SallyportCore

/// Finds out why servers or the gateway cannot be reached, and resets connections.
public struct Diagnostics: Sendable {
    private let authorization: Authorization
    private let connector: Connector
    private let reachability: Reachability?

    /// - Parameters:
    ///   - authorization: has the policy and the gateway that are tried.
    ///   - connector: the connector of the app's sessions and sockets. If nil, ``forceResetAllConnections()`` does not
    ///     know their connections, and closes only those to the gateway's control port, including the event stream.
    ///   - reachability: says whether there is a network, and whether it changed during a check.
    public init(_ authorization: Authorization, through connector: Connector? = nil, reachability: Reachability? = nil)
    {
        self.authorization = authorization
        self.connector = connector ?? Connector(gate: authorization, decisions: authorization)
        self.reachability = reachability
    }

    /// Tries to reach a server by every way that the policy gives: direct, or each relay of its cluster, all at once.
    /// Nothing is sent to the server.
    ///
    /// A failure to connect is a result, not an error. Cancelling the task ends the check with the results so far.
    ///
    /// - Parameters:
    ///   - host: the server's name or address, in any spelling that a URL may have.
    ///   - port: the server's.
    ///   - isSecure: whether TLS is used.
    ///   - validatesCertificate: whether the server's certificate must be valid according to `trust`.
    ///   - trust: the authorities that may issue it.
    ///   - limit: the time limit for each way; longer attempts are ``DiagnosticCode/timedOut``.
    /// - Throws: `AddressError` if the host is invalid.
    public func reach(
        _ host: String, port: UInt16, isSecure: Bool = true, validatesCertificate: Bool = true,
        trusting trust: ServerTrust = .system, within limit: Duration = .seconds(10)
    ) async throws(AddressError) -> ServerReachability {
        let endpoint = try Endpoint(host: Host(host), port: port)
        let before = reachability?.networkVersion
        let check = ServerCheck(
            endpoint: endpoint, isSecure: isSecure, validatesCertificate: validatesCertificate,
            trust: trust.anchors, limit: limit)
        return await check.run(through: connector).map { explained($0, since: before) }
    }

    /// Tries to reach the control port of the gateway, or of another one of its fleet, over a new connection.
    ///
    /// - Returns: one attempt for the whole fleet: the gateways are asked as for any request, and the first answer counts.
    public func reachConsole(within limit: Duration = .seconds(10)) async -> ServerReachability.Attempt {
        let (start, before) = (ContinuousClock.now, reachability?.networkVersion)
        var failure: LoadError?
        do throws(LoadError) {
            try await authorization.probe(within: limit)
        } catch {
            failure = error
        }
        let duration = start.duration(to: .now)
        let code = DiagnosticCode(failure, after: duration, of: limit)
        return explained(.init(relay: nil, code: code, failure: failure, duration: duration), since: before)
    }

    /// Closes every connection of the instance, to servers, relays and the gateway, and cancels those that are being
    /// made. This is rarely needed, since dead connections are detected.
    ///
    /// Users of a connection get an error: loads end with `connectionLost`, even those that could be sent again, since
    /// only the app knows whether it still wants them; sockets end with `networkUnavailable`, look-ups with
    /// `networkError`. Loads that wait for connectivity continue to wait. The next use connects anew; the event stream
    /// does so at once.
    ///
    /// - Returns: whether the reset is in progress, which is always the case.
    @discardableResult
    public func forceResetAllConnections() -> Bool {
        connector.resetConnections()
        authorization.resetConnections()
        return true
    }

    /// The current settings, one per line: identity, lease, routes, relays, TLS, the state of the link. They contain no
    /// secret.
    public func currentSettings() async -> String {
        var lines = await authorization.settings().map { "\($0.name): \($0.value)" }
        if let reachability { lines.append("link: \(reachability.state)") }
        return lines.joined(separator: "\n")
    }

    /// A missing or changed network explains more than the failure that it caused.
    private func explained(
        _ attempt: ServerReachability.Attempt, since before: UInt64?
    ) -> ServerReachability.Attempt {
        guard let reachability, [.timedOut, .notReachable].contains(attempt.code) else { return attempt }
        let code: DiagnosticCode
        if reachability.status != .unknown, !reachability.isNetworkAvailable {
            code = .noNetwork
        } else if let before, before != reachability.networkVersion {
            code = .networkChange
        } else {
            return attempt
        }
        return .init(relay: attempt.relay, code: code, failure: attempt.failure, duration: attempt.duration)
    }
}
