internal import Foundation
internal import SallyportWire

/// What a relay needs of an instance's record.
struct FeedInstance: Sendable, Hashable, Codable {
    /// Of the replaced certificates, only the last ones are told: an older one is refused as unknown.
    static let retiredLimit = 4

    var name: InstanceName
    var user: String
    var userID: UserIdentifier
    var version: String?
    var withdrawals: Set<InstanceRecord.Withdrawal>
    var certificate: InstanceRecord.Issued
    var renewed: InstanceRecord.Issued?
    var retired: [String]

    init(_ record: InstanceRecord) {
        name = record.name
        user = record.user
        userID = record.userID
        version = record.version
        withdrawals = record.withdrawals
        certificate = record.certificate
        renewed = record.renewed
        retired = Array(record.retiredSerials.prefix(Self.retiredLimit))
    }

    /// For the code that judges, which is a gateway's own.
    var record: InstanceRecord {
        InstanceRecord(
            name: name, user: user, userID: userID, version: version, withdrawals: withdrawals,
            certificate: certificate, renewed: renewed, retiredSerials: retired, activated: .distantPast)
    }
}

/// The authorities, without their keys.
struct FeedAuthorities: Sendable, Hashable, Codable {
    struct Former: Sendable, Hashable, Codable {
        /// DER.
        var certificate: Data
        var until: Date
    }

    /// The authority that issues certificates, DER.
    var present: Data
    var former: [Former]
    /// All authorities by which a gateway's certificate may be verified, DER.
    var trust: [Data]

    init(_ authorities: Authorities) {
        present = Data(authorities.issuing.der)
        former = authorities.record.former.map { Former(certificate: Data($0.certificate), until: $0.until) }
        trust = authorities.all.map { Data($0) }
    }

    /// - Parameter trust: DER, the authority that issues certificates first.
    init(trust: [[UInt8]]) {
        present = Data(trust.first ?? [])
        former = []
        self.trust = trust.map { Data($0) }
    }

    func accepted() throws(GatewayError) -> AcceptedAuthorities {
        let known = Set([present] + former.map(\.certificate))
        return try AcceptedAuthorities(
            present: AuthorityCertificate(Array(present)),
            former: former.map { .init(certificate: Array($0.certificate), until: $0.until) },
            announced: trust.filter { !known.contains($0) }.map { Array($0) })
    }
}

extension Directory {
    /// What a relay needs of it, apart from the users.
    var forRelays: Directory {
        var directory = Directory()
        directory.applications = applications.mapValues { _ in Application() }
        (directory.servers, directory.domains) = (servers, domains)
        (directory.defaultRoute, directory.deniedNetworks) = (defaultRoute, deniedNetworks)
        directory.defaultDomains = defaultDomains
        return directory
    }

    var usersForRelays: [String: User] {
        users.mapValues { User(id: $0.id, entitlements: $0.entitlements) }
    }
}
