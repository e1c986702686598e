internal import Foundation
internal import SallyportCore
internal import SallyportWire

/// What the relay decides with: the policy at one moment, without I/O.
struct RelaySnapshot: Sendable {
    private let authority: CertificateAuthority
    private let instances: [InstanceIdentifier: InstanceRecord]
    private let directory: Directory
    /// By entitlement; under nil the table of the additional servers alone.
    private let tables: [String: RoutingTable]
    private let addresses: [Endpoint: IPAddress]
    private let clock: @Sendable () -> Date

    init(
        authority: CertificateAuthority, directory: Directory, instances: [InstanceIdentifier: InstanceRecord],
        clock: @escaping @Sendable () -> Date
    ) {
        self.authority = authority
        self.directory = directory
        self.instances = instances
        self.clock = clock
        tables = Dictionary(
            uniqueKeysWithValues: directory.applications.keys.map { ($0, Self.table(of: $0, in: directory)) })
        addresses = Dictionary(
            directory.servers.compactMap { server in
                guard let endpoint = try? Endpoint(server.endpoint),
                    let address = server.address.flatMap(IPAddress.init)
                else { return nil }
                return (endpoint, address)
            }
        ) { first, _ in first }
    }

    private static func table(of entitlement: String, in directory: Directory) -> RoutingTable {
        RoutingTable(
            servers: directory.servers.filter { $0.application == nil || $0.application == entitlement }
                .compactMap { server in
                    (try? Endpoint(server.endpoint)).map { RoutingTable.Server($0, route: server.route) }
                },
            domains: directory.domains.map {
                RoutingTable.Domain($0.key, route: $0.value.route, ports: $0.value.ports)
            },
            default: directory.defaultRoute.route, defaultPorts: directory.defaultRoute.ports)
    }

    func decide(certificateDER: [UInt8], target: Endpoint) -> RelayVerdict {
        guard let holder = holder(of: certificateDER) else { return Self.denied("The certificate is not accepted.") }
        return decide(holder, target: target)
    }

    /// Who a certificate stands for.
    struct Holder {
        let presented: PresentedCertificate
        let record: InstanceRecord
        /// Whether it is a renewed certificate that nobody has used before.
        let isNew: Bool
    }

    /// Nil for a certificate that is expired, retired, foreign or unknown.
    func holder(of certificateDER: [UInt8]) -> Holder? {
        let now = clock()
        guard let presented = try? authority.instance(presented: certificateDER, now: now),
            !presented.isExpired(at: now), let record = instances[presented.name.instance],
            record.name == presented.name
        else { return nil }
        switch record.standing(of: presented.serial) {
        case .current: return Holder(presented: presented, record: record, isNew: false)
        case .renewed: return Holder(presented: presented, record: record, isNew: true)
        case .retired, .unknown: return nil
        }
    }

    func decide(_ holder: Holder, target: Endpoint) -> RelayVerdict {
        let record = holder.record
        let entitlement = record.name.entitlement.description
        let entitled = directory.versions(of: entitlement, for: record.user)
        guard ConfigurationBuilder.status(of: record, entitled: entitled).status == .active,
            let table = tables[entitlement]
        else { return Self.denied("The instance is withdrawn.") }
        let decision = table.decide(target)
        guard case .relay = decision.route else { return Self.denied("The policy does not relay to this server.") }
        let address = addresses[target]
        return .allowed(
            instance: record.name.instance.description, address: address,
            mayBeLocal: address != nil || Self.isLocalByName(target.host))
    }

    /// An address literal, or `localhost`: the administrator has listed that very place.
    private static func isLocalByName(_ host: SallyportCore.Host) -> Bool {
        switch host {
        case .address: true
        case .name(let name): name == "localhost"
        }
    }

    static func denied(_ details: String) -> RelayVerdict {
        .refused(error: ProxyStatus.ErrorType.requestDenied, details: details, status: 403)
    }
}

/// The snapshot that is in force, for the relay's threads.
final class CurrentRelayPolicy: RelayPolicy {
    private let snapshot: Lock<RelaySnapshot>
    /// The renewed certificates that the relay is the first to see; what overflows is seen again at the next CONNECT.
    let renewals: AsyncStream<PresentedCertificate>
    private let continuation: AsyncStream<PresentedCertificate>.Continuation

    init(_ snapshot: RelaySnapshot) {
        self.snapshot = Lock(snapshot)
        (renewals, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(256))
    }

    func update(_ new: RelaySnapshot) { snapshot.withLock { $0 = new } }

    func decide(certificateDER: [UInt8], target: Endpoint) -> RelayVerdict {
        let current = snapshot.withLock { $0 }
        guard let holder = current.holder(of: certificateDER) else {
            return RelaySnapshot.denied("The certificate is not accepted.")
        }
        if holder.isNew { continuation.yield(holder.presented) }
        return current.decide(holder, target: target)
    }
}
