internal import Foundation
internal import SallyportCore
internal import SallyportLoading
internal import SallyportWire

/// Builds the configuration of one instance from the gateway's data. A value without I/O.
struct ConfigurationBuilder: Sendable {
    let directory: Directory
    let record: InstanceRecord
    let settings: GatewaySettings
    /// Of the fleet.
    let gateways: [GatewayRecord]
    /// By cluster: see ``GatewayData/ownRelays()``.
    let relays: [String: [Endpoint]]
    /// The trust settings in the configuration.
    let trust: ConfigurationDocument.Trust
    /// The authorities that may have issued a relay's certificate, DER: a relay that has not renewed yet, and a foreign
    /// one until it is given another, has a certificate by a former authority.
    let relayAuthorities: [[UInt8]]
    let now: Date

    /// The status of an instance: the administrator's decision first, then the user's entitlements.
    static func status(
        of record: InstanceRecord, entitled: [EntitlementVersion], version: EntitlementVersion? = nil
    ) -> (status: ConfigurationDocument.Status, code: ResultCode) {
        if record.withdrawal == .wiped { return (.wiped, .wiped) }
        if entitled.isEmpty { return (.denied, .appDenied) }
        switch record.withdrawal {
        case .denied: return (.denied, .appDenied)
        case .locked: return (.locked, record.lockReason?.code ?? .remoteLockout)
        case .blocked: return (.blocked, .blocked)
        case .wiped, nil: break
        }
        let version = version ?? record.version.flatMap(EntitlementVersion.init)
        if let version, !entitled.contains(version) { return (.locked, .appVersionNotEntitled) }
        return (.active, .none)
    }

    /// Whether a configuration also has the members that instances share.
    static func isWhole(_ document: ConfigurationDocument) -> Bool {
        document.status == .active || document.status == .blocked || document.code == .appVersionNotEntitled
    }

    /// The configuration without the members that instances share.
    func document(version: EntitlementVersion?) throws -> ConfigurationDocument {
        let (status, code) = Self.status(of: record, entitled: directory.versions(for: record), version: version)
        let seconds = Int64(now.timeIntervalSince1970)
        let id = record.name.entitlement
        guard let version = version ?? EntitlementVersion("0") else { throw GatewayError(.internalFailure, "version") }
        var document = ConfigurationDocument(
            aud: record.name.instance, epoch: record.epoch, iat: seconds, leaseEnd: seconds + directory.lease,
            status: status, code: code, entitlement: .init(id: id, version: version), user: .init(id: record.user),
            trust: trust, defaultRoute: .init(route: .deny))
        guard Self.isWhole(document) else {
            // Another gateway may be the one that tells it of the end of its withdrawal.
            document.gateways = try settings.controls(of: gateways)
            return document
        }
        let user = directory.user(named: record.user, record.userID)
        document.user.principalName = user?.principalName
        document.entitlements = (user?.entitlements ?? [:]).sorted { $0.key < $1.key }.compactMap { id, versions in
            EntitlementIdentifier(id).map {
                .init(id: $0, versions: versions.compactMap(EntitlementVersion.init).sorted())
            }
        }
        return document
    }

    /// A configuration that has only the members that all instances of the application share.
    func sharedDocument() throws -> ConfigurationDocument {
        let id = record.name.entitlement
        guard let version = EntitlementVersion("0") else { throw GatewayError(.internalFailure, "version") }
        var document = ConfigurationDocument(
            aud: record.name.instance, epoch: 1, iat: 1, leaseEnd: 1, entitlement: .init(id: id, version: version),
            user: .init(id: ""), trust: trust)
        let application = directory.applications[id.description]
        document.servers = try servers(of: id.description)
        try directory.tell(&document)
        document.clusters = try clusters()
        document.gateways = try settings.controls(of: gateways)
        document.policy = try Directory.policy(application?.policy ?? "{}")
        document.application = ConfigurationDocument.Application(application)
        return document
    }

    private func servers(of entitlement: String) throws -> [ConfigurationDocument.Server] {
        try directory.servers(for: entitlement)
            .sorted { ($0.priority, $0.endpoint) < ($1.priority, $1.endpoint) }
            .map { try .init($0) }
    }

    private func clusters() throws -> [ConfigurationDocument.Cluster] {
        let own = ConfigurationDocument.Cluster(
            name: Route.mainCluster, relays: try relays(of: Route.mainCluster), authorities: relayAuthorities)
        return [own]
            + (try directory.clusters.keys.sorted().map { name in
                .init(
                    name: name, relays: try relays(of: name),
                    authorities: try directory.authorities(of: name)?.ders ?? relayAuthorities)
            })
    }

    private func relays(of cluster: String) throws -> [RelayAccess.Relay] {
        try Self.relays(declared: directory.clusters[cluster] ?? [], own: relays[cluster] ?? [])
            .map { .init($0.endpoint, priority: $0.priority) }
    }
}
