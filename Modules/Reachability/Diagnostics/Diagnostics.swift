public import SallyportAuthorization
public import SallyportConnecting
public import SallyportCore

/// Finds out what is in the way: the documents' `GDDiagnostic`, and `GDConnectivityManager`'s reset.
public struct Diagnostics: Sendable {
    private let authorization: Authorization
    private let connector: Connector
    private let reachability: Reachability?

    /// - Parameters:
    ///   - connector: what the app's sessions and sockets connect by. If nil, ``forceResetAllConnections()`` knows none of
    ///     their connections, and closes those to the gateway's control port alone, the event stream among them.
    ///   - reachability: tells whether there is a network, and whether it changed during a check.
    public init(_ authorization: Authorization, through connector: Connector? = nil, reachability: Reachability? = nil)
    {
        self.authorization = authorization
        self.connector = connector ?? Connector(gate: authorization, decisions: authorization)
        self.reachability = reachability
    }

    /// Tries to reach a server by every way that the policy gives: direct, or each relay of its cluster, all at once
    /// (`checkApplicationServerReachability`). Nothing is sent to it.
    ///
    /// What is in the way is the result, and no error. Cancelling the task ends it, with what was found until then.
    ///
    /// - Parameters:
    ///   - host: its name or address, in any spelling that a URL may have.
    ///   - isSecure: whether TLS is spoken with it.
    ///   - validatesCertificate: whether its certificate must be good, as `trust` says.
    ///   - trust: who may issue it.
    ///   - limit: the longest time for each way; those that took longer are ``DiagnosticCode/timedOut``.
    /// - Throws: `AddressError` where the host is none.
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

    /// Tries to reach the gateway's control port, over a connection of its own (`checkManagementConsoleReachability`).
    ///
    /// - Returns: the one attempt; there is one console.
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

    /// Closes every connection of the instance, to servers, relays and the gateway, and gives up those that are being made.
    /// Needed seldom, since dead connections are noticed.
    ///
    /// Who used one hears of it: loads end with `connectionLost`, also those that might be sent again, since only the app knows
    /// whether it still wants them; sockets end with `networkUnavailable`, look-ups with `networkError`. What waits for
    /// connectivity goes on waiting. The next use connects anew, the event stream at once.
    ///
    /// - Returns: whether it is in progress, which it always is.
    @discardableResult
    public func forceResetAllConnections() -> Bool {
        connector.resetConnections()
        authorization.resetConnections()
        return true
    }

    /// The settings that hold now, as text of a line each: identity, lease, routes, relays, TLS, the state of the link.
    /// Nothing in it is secret.
    public func currentSettings() async -> String {
        var lines = await authorization.settings().map { "\($0.name): \($0.value)" }
        if let reachability { lines.append("link: \(reachability.state)") }
        return lines.joined(separator: "\n")
    }

    /// A lack or a change of the network says more than what it led to.
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
