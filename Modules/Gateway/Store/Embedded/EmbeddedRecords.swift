internal import SallyportSecureStore
internal import SallyportWire

/// The collections of an ``EmbeddedStore``.
struct EmbeddedCollections: Sendable {
    let revisions: StoreCollection<String, EmbeddedRevisions>
    let log: StoreCollection<String, [InstanceIdentifier]>
    let directory: StoreCollection<String, Directory>
    let authorities: StoreCollection<String, AuthorityRecord>
    let instances: StoreCollection<String, InstanceRecord>
    /// The instances that were activated under a grant, by ``Grant/text``.
    let holders: StoreCollection<String, [InstanceIdentifier]>
    let keys: StoreCollection<[UInt8], AccessKeyRecord>
    /// One.
    let gateways: StoreCollection<String, GatewayRecord>
    let presences: StoreCollection<String, GatewayPresence>
    let relays: StoreCollection<String, RelayTable>

    init(_ store: SecureStore) {
        revisions = store.reservedCollection("gateway.revisions", of: EmbeddedRevisions.self)
        log = store.reservedCollection("gateway.log", of: [InstanceIdentifier].self)
        directory = store.reservedCollection("gateway.directory", of: Directory.self)
        authorities = store.reservedCollection("gateway.authorities", of: AuthorityRecord.self)
        instances = store.reservedCollection("gateway.instances", of: InstanceRecord.self)
        holders = store.reservedCollection("gateway.holders", of: [InstanceIdentifier].self)
        keys = store.reservedCollection("gateway.keys", of: AccessKeyRecord.self, keyedBy: [UInt8].self)
        gateways = store.reservedCollection("gateway.gateways", of: GatewayRecord.self)
        presences = store.reservedCollection("gateway.presences", of: GatewayPresence.self)
        relays = store.reservedCollection("gateway.relays", of: RelayTable.self)
    }
}

/// The newest revision of an embedded store, and those of its single records and of its gateways.
struct EmbeddedRevisions: Codable, Sendable, Hashable {
    /// How many revisions the log goes back. Beyond it, everything is read again.
    static let memory: Int64 = 1000

    var newest: Int64 = 1
    var directory: Int64 = 1
    var authorities: Int64 = 1
    /// Nil in data of older versions.
    var gateways: Int64?
    /// Nil until there was a relay.
    var relays: Int64?
}

// MARK: In a transaction

extension WriteTransaction {
    /// Writes the first state: one authority, and a directory that denies everything.
    func begin(with authorities: AuthorityRecord, _ collections: EmbeddedCollections) throws {
        try set(EmbeddedRevisions(), for: "revisions", in: collections.revisions)
        try set(authorities, for: "authorities", in: collections.authorities)
        try set(Directory(), for: "directory", in: collections.directory)
    }

    func revisions(_ collections: EmbeddedCollections) throws -> EmbeddedRevisions {
        guard let revisions = try value(for: "revisions", in: collections.revisions) else {
            throw GatewayError(.internalFailure, "The data have no revision.")
        }
        return revisions
    }

    /// Begins the next revision, in which these instances change.
    ///
    /// - Parameter edit: notes the single records that change.
    func advance(
        _ collections: EmbeddedCollections, changing instances: [InstanceIdentifier] = [],
        _ edit: (inout EmbeddedRevisions) -> Void = { _ in }
    ) throws -> Int64 {
        var revisions = try revisions(collections)
        revisions.newest += 1
        edit(&revisions)
        try set(revisions, for: "revisions", in: collections.revisions)
        try set(instances, for: "\(revisions.newest)", in: collections.log)
        try remove("\(revisions.newest - EmbeddedRevisions.memory)", from: collections.log)
        return revisions.newest
    }

    func directory(_ collections: EmbeddedCollections, known: Revised<Directory>) throws -> Directory {
        if try revisions(collections).directory == known.revision { return known.value }
        guard let directory = try value(for: "directory", in: collections.directory) else {
            throw GatewayError(.internalFailure, "The data have no directory.")
        }
        return directory
    }

    func record(_ id: InstanceIdentifier, _ collections: EmbeddedCollections) throws -> InstanceRecord {
        guard let record = try value(for: id.description, in: collections.instances) else {
            throw InstanceRecord.unknown(id)
        }
        return record
    }

    func keep(_ record: InstanceRecord, _ collections: EmbeddedCollections) throws {
        try set(record, for: record.name.instance.description, in: collections.instances)
    }

    func note(_ holder: InstanceRecord, _ collections: EmbeddedCollections) throws {
        let place = holder.grant.text
        let others = try value(for: place, in: collections.holders) ?? []
        try set(others + [holder.name.instance], for: place, in: collections.holders)
    }
}
