package import SallyportCore
internal import SallyportWire

/// A store's data about its gateways: enough to check the way there without changing anything.
package struct StoredContact: Sendable {
    /// All that an app would ask, by priority.
    package let gateways: [Endpoint]
    /// The one that is asked: at first that of the activation.
    package private(set) var gateway: Endpoint
    /// The authorities that the instance trusts, DER.
    package let authorities: [[UInt8]]
    /// The instance's certificate and key.
    package let identity: ClientIdentity
    /// The certificate's validity, in Unix seconds.
    package let validity: ClosedRange<Int64>
    /// From when on the certificate is to be renewed, Unix seconds.
    package let renewalTime: Int64
    /// How long after its expiry the certificate can still be renewed, in seconds.
    package static var renewalGrace: Int64 { IdentityRecord.renewalGrace }
    /// Nil if there is no stored policy that can be verified.
    package let policy: StoredPolicy?
    private let identityRecord: IdentityRecord
    private let decisions: LocalDecisions
    private let document: ConfigurationDocument?

    init?(_ contents: AuthorizationRecords.Contents) {
        guard let record = contents.identity, let gateway = try? record.endpoint(), record.notBefore <= record.notAfter
        else { return nil }
        identityRecord = record
        decisions = contents.decisions
        document = contents.document
        self.gateway = gateway
        // Not at random among equals, so that two checks can be compared.
        gateways = FailoverOrder(
            KnownGateways.all(contents.document, activatedBy: gateway), endpoint: \.endpoint, priority: \.priority
        ) { $0 }.order(at: .now)
        authorities = record.trust.authorities
        identity = record.clientIdentity
        validity = record.notBefore...record.notAfter
        renewalTime = record.renewalTime
        policy = document.map { StoredPolicy($0, decisions: contents.decisions, identity: record.clientIdentity) }
    }

    /// The same, but asking another gateway.
    package func asking(_ gateway: Endpoint) -> StoredContact {
        var contact = self
        contact.gateway = gateway
        return contact
    }

    /// A request for the current configuration.
    package var question: ControlRequest {
        var target = ControlAPI.Path.configuration
        if let version = decisions.version(under: document) { target += "?\(ControlAPI.Query.version)=\(version)" }
        return ControlRequest(
            gateway: gateway, target: target, trust: .authorities(authorities), identity: identity,
            limit: ControlAPI.Limits.configuration)
    }

    /// The policy in the gateway's answer, if it is from the gateway, for this instance, and no older than the stored
    /// one.
    ///
    /// - Parameter time: Unix seconds at which the signer's certificate must be valid.
    /// - Throws: `invalidConfiguration`.
    package func confirm(_ text: [UInt8], at time: Int64) throws(AuthorizationError) -> StoredPolicy {
        let verifier = ConfigurationVerifier(trust: identityRecord.trust, instance: identityRecord.name)
        let fresh = try verifier.verify(text, after: document, at: time)
        return StoredPolicy(fresh, decisions: decisions, identity: identity)
    }

    /// The time at which the configuration claims to be signed, in Unix seconds; nothing in it is verified.
    package static func claimedTime(_ text: [UInt8]) -> Int64? {
        guard let signed = try? JWS(text, type: ConfigurationDocument.type) else { return nil }
        return try? ConfigurationDocument(parsing: signed.payload).iat
    }

    /// A probe, without the instance's certificate.
    package func probe(within limit: Duration) -> ControlRequest {
        var request = ControlRequest(
            gateway: gateway, target: ControlAPI.Path.health, trust: .authorities(authorities),
            limit: ControlAPI.Limits.error, timeout: limit)
        request.isAlone = true
        return request
    }

    /// The first listed server that is reached through a relay and has a name, which the gateway can resolve.
    package var relayedName: String? {
        for server in document?.servers ?? [] {
            guard case .name(let name) = server.endpoint.host else { continue }
            if document?.routingTable.decide(server.endpoint).route.isRelay == true { return name }
        }
        return nil
    }
}

/// The routes of a configuration, without a running authorization.
package struct StoredPolicy: Sendable {
    private let document: ConfigurationDocument
    private let decisions: LocalDecisions
    private let rules: Gate.Rules

    init(_ document: ConfigurationDocument, decisions: LocalDecisions, identity: ClientIdentity) {
        self.document = document
        self.decisions = decisions
        rules = Gate.Rules(document, identity: identity)
    }

    /// When it was signed, Unix seconds.
    package var signed: Int64 { document.iat }
    package var leaseEnd: Int64 { document.leaseEnd }
    package var epoch: Int64 { document.epoch }
    package func state(at time: Int64) -> AuthorizationState {
        Verdict.state(of: document, decisions: decisions, at: time)
    }

    /// All clusters, in the order of their names.
    package var clusters: [RelayAccess] { rules.clusters.values.sorted { $0.cluster < $1.cluster } }
    /// As ``AccessGate/completed(_:)``.
    package func completed(_ endpoint: Endpoint) -> Endpoint { rules.table.completed(endpoint) }
    package func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        try rules.access(to: endpoint, revision: 0)
    }
}

extension Gate.Policy {
    /// - Parameter last: the rules so far, whose clusters are kept where nothing has changed.
    init(_ document: ConfigurationDocument, identity: ClientIdentity, mark: TimeMark, after last: Gate.Rules?) {
        self.init(
            rules: Gate.Rules(document, identity: identity, after: last), leaseEnd: document.leaseEnd, mark: mark)
    }
}

extension Gate.Rules {
    convenience init(_ document: ConfigurationDocument, identity: ClientIdentity, after last: Gate.Rules? = nil) {
        let clusters = document.clusters.map { cluster in
            let new = RelayAccess(
                cluster: cluster.name, relays: cluster.relays, authorities: cluster.authorities, identity: identity)
            // The same object knows whether its relays can be reached, whatever else was published since.
            guard let known = last?.clusters[cluster.name], known == new else { return new }
            return known
        }
        self.init(
            table: document.routingTable,
            clusters: Dictionary(clusters.map { ($0.cluster, $0) }) { first, _ in first }, tls: document.tls,
            schemes: Set(document.schemes))
    }
}
