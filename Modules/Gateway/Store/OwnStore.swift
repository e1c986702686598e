internal import Foundation
internal import SallyportSecureStore

/// What is one gateway's alone, in an encrypted store on its machine: its settings, its certificates, and the keys with
/// which it signs configurations and tokens.
struct OwnStore: Sendable {
    private let store: SecureStore
    private let settings: StoreCollection<String, GatewaySettings>
    private let identities: StoreCollection<String, StoredIdentity>
    private let tokenKeys: StoreCollection<String, TokenKeyRecord>
    private let looks: StoreCollection<String, UInt64>
    private let memberships: StoreCollection<String, FleetMembership>
    private let marks: StoreCollection<String, FleetMark>
    private let audit: StoreCollection<String, String>
    /// The key of a request to join a fleet, until it is answered: X9.63.
    private let joining: StoreCollection<String, [UInt8]>

    struct Content: Sendable {
        let settings: GatewaySettings
        let identities: OwnIdentities
        let tokenKeys: [TokenKeyRecord]
    }

    init(_ store: SecureStore) {
        self.store = store
        settings = store.reservedCollection("gateway.settings", of: GatewaySettings.self)
        identities = store.reservedCollection("gateway.identities", of: StoredIdentity.self)
        tokenKeys = store.reservedCollection("gateway.tokenKeys", of: TokenKeyRecord.self)
        looks = store.reservedCollection("gateway.health", of: UInt64.self)
        memberships = store.reservedCollection("gateway.fleet", of: FleetMembership.self)
        marks = store.reservedCollection("gateway.fleet.followed", of: FleetMark.self)
        audit = store.reservedCollection("gateway.audit.identity", of: String.self)
        joining = store.reservedCollection("gateway.joining", of: [UInt8].self)
    }

    /// Nil if the store is not a gateway's.
    func content() throws -> Content? {
        try store.read { snapshot in
            guard let settings = try snapshot.value(for: "gateway", in: settings),
                let server = try snapshot.value(for: "server", in: identities),
                let signer = try snapshot.value(for: "signer", in: identities)
            else { return nil }
            return Content(
                settings: settings, identities: OwnIdentities(server: server, signer: signer),
                tokenKeys: try snapshot.all(in: tokenKeys).map(\.1))
        }
    }

    func isGateway() throws -> Bool { try store.read { try $0.value(for: "gateway", in: settings) } != nil }

    /// The fleet in which this gateway takes part; nil if it stands alone.
    func membership() throws -> FleetMembership? { try store.read { try $0.value(for: "fleet", in: memberships) } }

    func keep(_ membership: FleetMembership) async throws {
        try await store.write { [memberships] in try $0.set(membership, for: "fleet", in: memberships) }
    }

    /// How far the fleet's database was followed; nil if it has not been yet.
    func mark() throws -> FleetMark? { try store.read { try $0.value(for: "fleet", in: marks) } }

    func keep(_ mark: FleetMark) async throws {
        try await store.write { [marks] in try $0.set(mark, for: "fleet", in: marks) }
    }

    /// The key of the request to join a fleet; nil if there is none.
    func joiningKey() throws -> [UInt8]? { try store.read { try $0.value(for: "key", in: joining) } }

    func keep(joiningKey key: [UInt8]) async throws {
        try await store.write { [joining] in try $0.set(key, for: "key", in: joining) }
    }

    /// Writes the first state.
    func begin(
        with settings: GatewaySettings, _ identities: OwnIdentities, of membership: FleetMembership?,
        in transaction: WriteTransaction
    ) throws {
        if let membership { try transaction.set(membership, for: "fleet", in: memberships) }
        try transaction.remove("key", from: joining)
        try transaction.set(settings, for: "gateway", in: self.settings)
        try keep(identities, in: transaction)
    }

    private func keep(_ new: OwnIdentities, in transaction: WriteTransaction) throws {
        try transaction.set(new.server, for: "server", in: identities)
        try transaction.set(new.signer, for: "signer", in: identities)
    }

    func keep(_ new: GatewaySettings) async throws {
        try await store.write { [settings] in try $0.set(new, for: "gateway", in: settings) }
    }

    func keep(
        _ new: OwnIdentities, isolation: isolated (any Actor)? = #isolation
    ) async throws {
        try await store.write { try keep(new, in: $0) }
    }

    /// Writes how often it was looked whether the store can be written.
    func keep(looks count: UInt64) async throws {
        try await store.write { [looks] in try $0.set(count, for: "write", in: looks) }
    }

    func statistics() throws -> StoreStatistics { try store.statistics() }

    /// What this gateway's chain in the audit trail is called; made at the first call.
    func auditIdentity() async throws -> String {
        if let known = try store.read({ try $0.value(for: "gateway", in: audit) }) { return known }
        return try await store.write { [audit] transaction in
            if let known = try transaction.value(for: "gateway", in: audit) { return known }
            let made = UUID().uuidString.lowercased()
            try transaction.set(made, for: "gateway", in: audit)
            return made
        }
    }

    func close() { store.close() }

    func replace(_ old: TokenKeys, with new: TokenKeys) async throws {
        let dropped = old.records.filter { !new.records.contains($0) }
        try await store.write { [tokenKeys] transaction in
            for record in new.records { try transaction.set(record, for: record.id, in: tokenKeys) }
            for record in dropped { try transaction.remove(record.id, from: tokenKeys) }
        }
    }
}
