/// Says whether and how the app may connect now: implemented by Authorization, and asked before every connection.
///
/// Calls are synchronous and cost a lock: a request asks on its own task.
public protocol AccessGate: Sendable {
    /// The way to a server under the current policy.
    ///
    /// - Throws: ``AccessDenied`` if the instance is not authorized, if its authorization is withdrawn, or if the route
    ///   is `deny`.
    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess

    /// The server that a name stands for which has no domain (`portal`), by the administrator's default domains. Any
    /// other server is returned as it is, and so is each while the gate is closed.
    func completed(_ endpoint: Endpoint) -> Endpoint

    /// The application's own servers, as the administrator lists them.
    ///
    /// - Throws: as ``checkAuthorized()``.
    func applicationServers() throws(AccessDenied) -> [ApplicationServer]

    /// Throws while neither the store nor secure communication may be used.
    func checkAuthorized() throws(AccessDenied)

    /// Whether the administrator allows answers to challenges of this method, which must be a scheme of HTTP
    /// authentication. For an app's own scheme, which no policy can name, this is true while the app is authorized.
    func allows(_ method: AuthenticationMethod) -> Bool

    /// The number of the rules in force. When it has changed, open connections must be judged again.
    ///
    /// - Throws: as ``checkAuthorized()``.
    func rulesRevision() throws(AccessDenied) -> UInt64

    /// Calls `observer` for every change of access: a withdrawal, a withdrawal with another code, the end of a
    /// withdrawal, other rules. ``AccessChange`` describes the consequences.
    ///
    /// The calls come in the order of the changes, beginning with the current access unless that is
    /// ``Access/notAuthorized``, and continue as long as the returned registration is retained. `observer` runs on the
    /// thread that made the change and must not block.
    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation

    /// Asks the gateway whether access has changed. Called when a relay ended a connection, since the relay learns of a
    /// withdrawal or of a new policy earlier than this process does.
    ///
    /// Returns when the answer is in force, or if there is none. That may take as long as a fetch of the configuration;
    /// the caller limits its own wait.
    func confirmAccess() async
}

extension AccessGate {
    /// A gate without default domains.
    public func completed(_ endpoint: Endpoint) -> Endpoint { endpoint }

    /// A gate without an administrator lists no servers.
    public func applicationServers() throws(AccessDenied) -> [ApplicationServer] {
        try checkAuthorized()
        return []
    }

    /// A gate without an administrator allows every method.
    public func allows(_ method: AuthenticationMethod) -> Bool { true }

    /// A gate whose rules never change.
    public func rulesRevision() throws(AccessDenied) -> UInt64 {
        try checkAuthorized()
        return 0
    }

    /// A gate without an administrator cannot ask: returns at once.
    public func confirmAccess() async {}
}

/// How a server is reached: the decision, and everything that a connection needs.
public struct ServerAccess: Sendable {
    /// The route, and the rule that decided it.
    public let decision: RouteDecision
    /// The relays and this instance's identity; nil for a direct route.
    public let relay: RelayAccess?
    /// The relays of the route's secondary cluster, which are used while none of ``relay`` can be reached; nil for
    /// none.
    public let secondary: RelayAccess?
    /// Versions that the administrator blocks, on relayed connections.
    public let blockedTLSVersions: Set<TLSVersion>
    /// The lowest version that the administrator allows, on relayed connections.
    public let tlsFloor: TLSVersion?
    /// The number of the rules by which this was decided; see ``AccessGate/rulesRevision()``.
    public let revision: UInt64
    /// The policy by which this was decided: while it is in force, the answer is the same, and the gate need not be
    /// asked again. Nil for a gate that must be asked each time.
    package var edition: PolicyEdition?

    /// - Parameters:
    ///   - decision: the route, and the rule that decided it.
    ///   - relay: the relays; nil for a direct route.
    ///   - secondary: the relays of the secondary cluster; nil for none.
    ///   - blockedTLSVersions: by default, none.
    ///   - tlsFloor: the lowest version; nil for none.
    ///   - revision: 0 for a gate whose rules never change.
    public init(
        decision: RouteDecision, relay: RelayAccess?, secondary: RelayAccess? = nil,
        blockedTLSVersions: Set<TLSVersion> = [], tlsFloor: TLSVersion? = nil, revision: UInt64 = 0
    ) {
        self.decision = decision
        self.relay = relay
        self.secondary = secondary
        self.blockedTLSVersions = blockedTLSVersions
        self.tlsFloor = tlsFloor
        self.revision = revision
    }
}

/// The relays of a cluster, and the instance's identity for them.
public struct RelayAccess: Sendable, Hashable {
    /// One relay.
    public struct Relay: Sendable, Hashable {
        /// Where the relay listens, and the name that its certificate must have.
        public let endpoint: Endpoint
        /// Relay 1 is tried first.
        public let priority: Int

        public init(_ endpoint: Endpoint, priority: Int) {
            self.endpoint = endpoint
            self.priority = priority
        }
    }

    private let parts: Parts

    /// The cluster's name: 1 to 64 letters, digits, hyphens, underscores and dots.
    public var cluster: String { parts.cluster }
    /// The cluster's relays, in any order; ``Relay/priority`` says which is tried first.
    public var relays: [Relay] { parts.relays }
    /// The only authorities that may have issued the relay's certificate, DER.
    public var authorities: [[UInt8]] { parts.authorities }
    /// What this instance presents to the relays.
    public var identity: ClientIdentity { parts.identity }
    /// Until when another cluster is tried first, because no relay of this one could be reached.
    package var avoidance: ClusterAvoidance { parts.avoidance }
    /// In which order its relays are tried.
    package var failover: RelayFailover { parts.failover }

    /// - Parameters:
    ///   - cluster: the cluster's name.
    ///   - relays: its relays.
    ///   - authorities: the only ones that may have issued the relays' certificates, DER.
    ///   - identity: what is presented to the relays.
    public init(cluster: String, relays: [Relay], authorities: [[UInt8]], identity: ClientIdentity) {
        parts = Parts(cluster: cluster, relays: relays, authorities: authorities, identity: identity)
    }

    /// The same for all requests under one policy: one reference, which each of them holds and compares.
    private final class Parts: Sendable, Hashable {
        let cluster: String
        let relays: [Relay]
        let authorities: [[UInt8]]
        let identity: ClientIdentity
        let avoidance = ClusterAvoidance()
        let failover: RelayFailover

        init(cluster: String, relays: [Relay], authorities: [[UInt8]], identity: ClientIdentity) {
            (self.cluster, self.relays, self.authorities, self.identity) = (cluster, relays, authorities, identity)
            failover = RelayFailover(relays)
        }

        static func == (one: Parts, other: Parts) -> Bool {
            if one === other { return true }
            return one.cluster == other.cluster && one.relays == other.relays
                && one.authorities == other.authorities && one.identity == other.identity
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(cluster)
            hasher.combine(identity)
        }
    }
}

/// Why the gate is closed.
public struct AccessDenied: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kinds of refusal.
    public enum Reason: Sendable, Hashable {
        /// `authorize()` has not succeeded in this process.
        case notAuthorized
        /// Authorization was withdrawn; ``AccessDenied/code`` says how.
        case withdrawn
        /// The route to the server is `deny`.
        case denied(RouteDecision)
    }

    /// Why there is no access.
    public let reason: Reason
    /// The result code; `none` if the reason has no number.
    public let code: ResultCode

    public init(_ reason: Reason, code: ResultCode = .none) {
        self.reason = reason
        self.code = code
    }

    public var description: String {
        switch reason {
        case .notAuthorized: "Not authorized: call authorize() first."
        case .withdrawn: "Authorization is withdrawn: \(code)."
        case .denied(let decision): "Refused by policy: \(decision)."
        }
    }
}
