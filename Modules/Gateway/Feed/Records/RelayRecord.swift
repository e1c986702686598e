internal import Foundation
internal import SallyportCore
internal import SallyportWire

/// Identifies a relay of the fleet: a UUID in lower case, made when the relay is enrolled and never reused.
struct RelayIdentifier: Sendable, Hashable, TextCodable {
    private static let scheme = "sallyport-relay://"

    let description: String

    init() { description = UUID().uuidString.lowercased() }

    init?(_ text: String) {
        guard let value = UUID(uuidString: text) else { return nil }
        description = value.uuidString.lowercased()
    }

    /// Reads the name in a relay's certificate. No instance has such a name, and no relay that of an instance.
    init?(uri: String) {
        guard uri.hasPrefix(Self.scheme), let id = RelayIdentifier(String(uri.dropFirst(Self.scheme.count))),
            id.uri == uri
        else { return nil }
        self = id
    }

    var uri: String { Self.scheme + description }
}

/// A relay's certificate as it was presented, after its signature was verified.
struct PresentedRelay: Sendable, Hashable {
    let id: RelayIdentifier
    /// In hexadecimal.
    let serial: String
    /// The end of its own or of its authority's validity, whichever comes first.
    let end: Date
    /// The ``AuthorityCertificate/fingerprint`` of the authority that issued it.
    let authority: [UInt8]

    func isExpired(at now: Date) -> Bool { end <= now }
}

/// A relay that runs on a machine of its own.
struct RelayRecord: Sendable, Hashable, Codable {
    let id: RelayIdentifier
    /// The host name at which apps reach it.
    let name: String
    let cluster: String
    /// Where it listens; nil until it has told so.
    var port: UInt16?
    let added: Date
    /// The serial numbers of its certificates for the feed that are accepted, the newest last: the one in use, and the one
    /// that was issued to replace it.
    var serials: [String]

    /// Accepts a renewed certificate, and of the earlier ones only that by which the renewal was asked for.
    mutating func renew(_ serial: String, replacing presented: String) { serials = [presented, serial] }
}

/// The relays of a fleet: one record, which changes rarely.
struct RelayTable: Sendable, Hashable, Codable {
    /// In all clusters. How many one cluster may have, ``ClusterPlaces`` says.
    static let limit = 63

    var relays: [RelayRecord] = []

    func relay(_ id: RelayIdentifier) -> RelayRecord? { relays.first { $0.id == id } }

    /// The relay that a certificate identifies; nil if it was removed, or the certificate replaced.
    func record(of presented: PresentedRelay) -> RelayRecord? {
        guard let record = relay(presented.id), record.serials.contains(presented.serial) else { return nil }
        return record
    }

    mutating func add(_ relay: RelayRecord) throws(GatewayError) {
        guard !relays.contains(where: { $0.name == relay.name }) else {
            throw GatewayError(
                .exists, "There is a relay \(relay.name): `admin relay remove` lets it be enrolled anew.")
        }
        guard relays.count < Self.limit else {
            throw GatewayError(.invalid, "There are \(Self.limit) relays already, the most.")
        }
        relays.append(relay)
    }

    /// - Returns: the relay.
    mutating func remove(named name: String) throws(GatewayError) -> RelayRecord {
        guard let place = relays.firstIndex(where: { $0.name == name }) else {
            throw GatewayError(.notFound, "No relay \(name): `admin relay list` shows them.")
        }
        return relays.remove(at: place)
    }
}

// MARK: Beside gateways

/// A relay's certificate for its listener would be that of a control gateway of the same name: apps and relays know a
/// gateway by its name only. So none is added under the name of the other.
extension RelayTable {
    private static func host(of relay: RelayRecord) -> SallyportCore.Host? { try? Host(relay.name) }

    /// The relays that another table has not.
    private func added(to old: RelayTable) -> [RelayRecord] { relays.filter { old.relay($0.id) == nil } }

    func hasAdded(to old: RelayTable) -> Bool { !added(to: old).isEmpty }

    /// - Throws: `exists` if a relay that the old table has not has the name of a gateway.
    func check(addedTo old: RelayTable, beside gateways: [GatewayRecord]) throws(GatewayError) {
        let hosts = gateways.reduce(into: Set<SallyportCore.Host>()) { $0.formUnion($1.hosts) }
        for relay in added(to: old) {
            guard let host = Self.host(of: relay), hosts.contains(host) else { continue }
            throw Self.hasNameOfGateway(relay.name)
        }
    }

    static func hasNameOfGateway(_ name: String) -> GatewayError {
        GatewayError(
            .exists,
            "There is a gateway \(name): a relay has a name of its own, since apps and relays know a gateway by its name."
        )
    }

    /// - Parameter hosts: the names of a gateway that is added.
    /// - Throws: `exists` if a relay has one of them.
    func check(besideGatewayNamed hosts: Set<SallyportCore.Host>) throws(GatewayError) {
        let taken = relays.first { relay in Self.host(of: relay).map { hosts.contains($0) } ?? false }
        guard let taken else { return }
        throw GatewayError(
            .exists,
            "There is a relay \(taken.name): a gateway has a name of its own, since apps and relays know it by its name. "
                + "`admin relay remove` ends the relay's enrolment.")
    }
}

extension GatewayRecord {
    /// At which apps and relays find it, each in its one spelling.
    var hosts: Set<SallyportCore.Host> {
        let named = try? Host(name)
        return Set([named, control.host, relay?.host].compactMap(\.self))
    }
}
