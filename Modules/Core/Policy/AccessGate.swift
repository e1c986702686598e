/// Says whether the app may connect now, and how: implemented by Authorization, asked by everything that connects.
///
/// Calls are synchronous and cost a lock: a request asks on the task that makes it.
public protocol AccessGate: Sendable {
    /// The way to a server under the present policy.
    ///
    /// - Throws: ``AccessDenied`` where the instance is not authorized, withdrawn, or the route is `deny`.
    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess

    /// Throws while neither store nor secure communication may be used.
    func checkAuthorized() throws(AccessDenied)

    /// Whether the administrator lets apps answer challenges of the method; of schemes of HTTP authentication only. Of a
    /// scheme that an app brings itself, which no policy names, that is so while the app is authorized.
    func allows(_ method: AuthenticationMethod) -> Bool

    /// The number of the rules in force; another number means that what is open must be judged anew.
    ///
    /// - Throws: as ``checkAuthorized()``.
    func rulesRevision() throws(AccessDenied) -> UInt64

    /// Calls `observer` for every change of access: a withdrawal, one with another code, its end, other rules. What
    /// follows from a change, ``AccessChange`` says.
    ///
    /// It is called in the order of the changes, beginning with the present access where that is not
    /// ``Access/notAuthorized``, for as long as the returned registration is kept. It runs on the thread that made the
    /// change and must not block.
    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation

    /// Asks the administrator's side whether access stands as it did: called when a relay ended a connection, since it
    /// does so before the withdrawal, or the new policy, that made it end one is known here.
    ///
    /// Returns when the answer is in force, or there is none. It may take as long as a fetch of the
    /// configuration: the caller bounds its own wait.
    func confirmAccess() async
}

extension AccessGate {
    /// A gate without an administrator allows all.
    public func allows(_ method: AuthenticationMethod) -> Bool { true }

    /// A gate whose rules never change.
    public func rulesRevision() throws(AccessDenied) -> UInt64 {
        try checkAuthorized()
        return 0
    }

    /// A gate without an administrator has no one to ask.
    public func confirmAccess() async {}
}

/// How a server is reached: the decision and all that a connection needs for it.
public struct ServerAccess: Sendable {
    public let decision: RouteDecision
    /// The relays and this instance's identity; nil for a direct route.
    public let relay: RelayAccess?
    /// Versions that the administrator blocks, on relayed connections.
    public let blockedTLSVersions: Set<TLSVersion>
    /// The lowest version that the administrator allows, on relayed connections.
    public let tlsFloor: TLSVersion?
    /// The rules that decided; see ``AccessGate/rulesRevision()``.
    public let revision: UInt64

    public init(
        decision: RouteDecision, relay: RelayAccess?, blockedTLSVersions: Set<TLSVersion> = [],
        tlsFloor: TLSVersion? = nil, revision: UInt64 = 0
    ) {
        self.decision = decision
        self.relay = relay
        self.blockedTLSVersions = blockedTLSVersions
        self.tlsFloor = tlsFloor
        self.revision = revision
    }
}

/// The relays of a cluster, and what the instance shows them.
public struct RelayAccess: Sendable, Hashable {
    /// One relay.
    public struct Relay: Sendable, Hashable {
        public let endpoint: Endpoint
        /// 1 is tried first.
        public let priority: Int

        public init(_ endpoint: Endpoint, priority: Int) {
            self.endpoint = endpoint
            self.priority = priority
        }
    }

    private let parts: Parts

    public var cluster: String { parts.cluster }
    public var relays: [Relay] { parts.relays }
    /// The only authorities that may have issued the relay's certificate, DER.
    public var authorities: [[UInt8]] { parts.authorities }
    public var identity: ClientIdentity { parts.identity }

    public init(cluster: String, relays: [Relay], authorities: [[UInt8]], identity: ClientIdentity) {
        parts = Parts(cluster: cluster, relays: relays, authorities: authorities, identity: identity)
    }

    /// All requests of a policy have the same: one reference, which each of them carries and compares.
    private final class Parts: Sendable, Hashable {
        let cluster: String
        let relays: [Relay]
        let authorities: [[UInt8]]
        let identity: ClientIdentity

        init(cluster: String, relays: [Relay], authorities: [[UInt8]], identity: ClientIdentity) {
            (self.cluster, self.relays, self.authorities, self.identity) = (cluster, relays, authorities, identity)
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
    public enum Reason: Sendable, Hashable {
        /// `authorize()` has not succeeded in this process.
        case notAuthorized
        /// Authorization was withdrawn; ``AccessDenied/code`` says how.
        case withdrawn
        /// The route to the server is `deny`.
        case denied(RouteDecision)
    }

    public let reason: Reason
    /// The documented code; `none` where the reason has no number.
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
