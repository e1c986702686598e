internal import Foundation
internal import HashTreeCollections
internal import SallyportBase
internal import SallyportCore
internal import SallyportWire

/// The statements that several operations of a ``FleetStore`` share.
enum FleetTables {
    static func missing(_ table: String) -> GatewayError {
        GatewayError(.notInitialized, "Table \(table) of the database is empty: `gateway init --database` fills it.")
    }

    static func isOfLaterVersion(_ level: Int64) -> GatewayError {
        GatewayError(
            .store,
            "The database has level \(level) and this version writes \(FleetSchema.level): it is read-only here until "
                + "this gateway is upgraded too.")
    }

    static func mustBeUpgraded(from level: Int64) -> GatewayError {
        GatewayError(
            .store,
            "The database has level \(level) and this version needs \(FleetSchema.level): the owner of its tables must "
                + "alter them, which this gateway's role may not. Give `gateway fleet upgrade --database-owner URL` at this "
                + "gateway, and then give the roles their rights again by what `gateway fleet roles` prints.")
    }

    /// The column `revision` is not sealed by itself, so it may have any number.
    static func isNoRevision(_ number: Int64) -> GatewayError {
        GatewayError(
            .store,
            "The database is at revision \(number), which no database comes to: it was changed. Nothing is taken from "
                + "it, and nothing is written.")
    }

    /// A sealed row of an earlier time opens as well: only its revision tells.
    static func wasPutBack(_ table: String, _ revision: Int64, _ known: Int64) -> GatewayError {
        GatewayError(
            .store,
            "Table \(table) of the database is at revision \(revision) and was at \(known) before: it was put back. "
                + "Nothing is written.")
    }

    /// The column `holder`, the index of instances by right, is not sealed, but must agree with the sealed body.
    static func isUnderAnotherRight(_ id: InstanceIdentifier) -> GatewayError {
        GatewayError(
            .store,
            "The row of instance \(id) in the database is not under the right by which it was activated: it was "
                + "changed. Nothing is taken from it, and nothing is written.")
    }

    static var isNoPlaceInAChain: GatewayError {
        GatewayError(
            .store,
            "The audit trail in the database has a number or a hash that no chain has: it was changed. Nothing is "
                + "written.")
    }

    /// Of the rows that the database had at this revision, some are others now.
    static func isNotOf(_ revision: Int64, _ table: String) -> GatewayError {
        GatewayError(
            .store,
            "Table \(table) of the database is not what its revision \(revision) has: rows were put back, removed or "
                + "added. Nothing is taken from it, and nothing is written. If it was restored from a backup on purpose: "
                + "`gateway fleet restored`.")
    }
}

extension FleetTransaction {
    /// The revision as the database says it, for what needs no mark of it, or comes before there is one.
    ///
    /// - Throws: `store` also for a number that no database comes to: to count on from it could end the process.
    func revision() async throws -> Int64 {
        guard let row = try await run("SELECT revision FROM fleet", []).first else {
            throw FleetTables.missing("fleet")
        }
        let revision = try row.integer(0)
        guard FleetEra.possible.contains(revision) else { throw FleetTables.isNoRevision(revision) }
        return revision
    }

    /// Begins the next revision: locks the fleet until the end of the transaction, and tells the other gateways after the
    /// commit.
    ///
    /// - Parameters:
    ///   - known: a revision that was seen before, 0 for none; the database must not have gone back behind it, nor been
    ///     restored since.
    ///   - edit: enters into what belongs to the new revision what the transaction changes.
    func advance(
        from known: Int64, _ key: FleetKey, _ edit: (inout FleetMark) throws -> Void = { _ in }
    ) async throws -> Int64 {
        let possible = FleetEra.continuing(known)
        let rows = try await run(
            """
            SELECT revision, mark FROM fleet
            WHERE revision >= $1 AND revision < $2 AND feature_level <= \(FleetSchema.level) FOR UPDATE
            """, [.integer(possible.lowerBound), .integer(possible.upperBound)])
        guard var mark = try rows.first.map(key.openMark) else { throw try await refusal(known) }
        mark.revision += 1
        try edit(&mark)
        try await run(
            "UPDATE fleet SET revision = $1, mark = $2 RETURNING pg_notify($3, '')",
            [.integer(mark.revision), key.seal(mark), .text(FleetStore.channel)])
        return mark.revision
    }

    private func refusal(_ known: Int64) async throws -> GatewayError {
        guard let row = try await run("SELECT revision, feature_level FROM fleet", []).first else {
            return FleetTables.missing("fleet")
        }
        let (revision, level) = (try row.integer(0), try row.integer(1))
        guard level <= FleetSchema.level else { return FleetTables.isOfLaterVersion(level) }
        try FleetEra.check(revision, since: known)
        // It has changed between the two statements.
        return FleetEra.wasPutBack(revision, known)
    }

    /// The content of a table with one row; nil if it came with an earlier revision, or with this one.
    func single<Value: Decodable & Sendable>(
        _ table: String, after revision: Int64, _ key: FleetKey
    ) async throws -> Revised<Value>? {
        let rows = try await run("SELECT revision, body FROM \(table) WHERE revision > $1", [.integer(revision)])
        return try rows.first.map { row in try key.openSingle(row, table: table) }
    }

    /// - Parameters:
    ///   - known: as the caller knows it; the table must not have gone back behind it.
    ///   - lock: how the row is locked until the end of the transaction.
    func directory(
        _ key: FleetKey, known: Revised<Directory>, lock: String
    ) async throws -> Revised<Directory> {
        guard let row = try await run("SELECT revision FROM directory \(lock)", []).first else {
            throw FleetTables.missing("directory")
        }
        let revision = try row.integer(0)
        guard revision >= known.revision else { throw FleetTables.wasPutBack("directory", revision, known.revision) }
        if revision == known.revision { return known }
        guard let whole = try await run("SELECT revision, body FROM directory", []).first else {
            throw FleetTables.missing("directory")
        }
        return try key.openSingle(whole, table: "directory")
    }

    /// Locks the row until the end of the transaction.
    func record(_ id: InstanceIdentifier, _ key: FleetKey) async throws -> InstanceRecord {
        let rows = try await run(
            "SELECT \(FleetKey.instanceColumns) FROM instance WHERE id = $1 FOR UPDATE", [.text(id.description)])
        guard let row = rows.first else { throw InstanceRecord.unknown(id) }
        return try key.openInstance(row)
    }

    /// The instances that were activated under rights, with their rows locked.
    ///
    /// - Parameter known: the instances that were read before. An instance may hide from the index, whose column the
    ///   database's owner can change.
    /// - Throws: `store` if one of them is not found under its right: it would not end with the right, and be back once
    ///   the right is given again.
    func holders(
        of grants: Set<Grant>, known: InstanceTable, _ key: FleetKey
    ) async throws -> [InstanceRecord] {
        guard !grants.isEmpty else { return [] }
        var records: [InstanceRecord] = []
        for grant in grants.sorted(by: { $0.text < $1.text }) {
            let rows = try await run(
                "SELECT \(FleetKey.instanceColumns) FROM instance WHERE holder = $1 ORDER BY id FOR UPDATE",
                [key.holder(grant)])
            records += try rows.map(key.openInstance)
        }
        let found = Set(records.map(\.name.instance))
        for (id, record) in known where grants.contains(record.grant) && !found.contains(id) {
            throw FleetTables.isUnderAnotherRight(id)
        }
        return records
    }

    /// A used key's record stays, so that a later second use is told the reason of its refusal.
    ///
    /// The rows are locked in the order of their digests, as by each transaction that locks more than one.
    func destroyKeys(of grants: Set<Grant>, _ key: FleetKey) async throws {
        var digests: [[UInt8]] = []
        for grant in grants {
            let rows = try await run(
                "SELECT digest FROM access_key WHERE holder = $1 AND NOT is_used", [key.holder(grant)])
            digests += try rows.map { try $0.bytes(0) }
        }
        for digest in digests.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            try await run("DELETE FROM access_key WHERE digest = $1 AND NOT is_used", [.bytes(digest)])
        }
    }

    func add(_ record: InstanceRecord, _ key: FleetKey, revision: Int64) async throws {
        let id = record.name.instance.description
        try await run(
            "INSERT INTO instance (id, revision, holder, epoch, body) VALUES ($1, $2, $3, 0, $4)",
            [.text(id), .integer(revision), key.holder(record.grant), key.seal(record, table: "instance", row: id)])
    }

    /// - Parameter revision: that of the change, begun by ``advance(from:_:_:)``.
    func keep(_ record: InstanceRecord, _ key: FleetKey, revision: Int64) async throws {
        let id = record.name.instance.description
        try await run(
            "UPDATE instance SET revision = $2, announced = $3, body = $4 WHERE id = $1",
            [
                .text(id), .integer(revision), .integer(record.announcement),
                key.seal(record, table: "instance", row: id),
            ])
    }

    /// Keeps what only the instance reports, of which others need not hear.
    ///
    /// - Returns: false if the database is of a later version: members of its record that this version does not know
    ///   would be lost.
    func keep(reported record: InstanceRecord, _ key: FleetKey) async throws -> Bool {
        let id = record.name.instance.description
        let rows = try await run(
            """
            UPDATE instance SET announced = $2, body = $3
            WHERE id = $1 AND (SELECT feature_level FROM fleet) <= \(FleetSchema.level) RETURNING id
            """,
            [.text(id), .integer(record.announcement), key.seal(record, table: "instance", row: id)])
        return !rows.isEmpty
    }
}

extension FleetKey {
    /// Of a table with one row: columns `revision` and `body`.
    func openSingle<Value: Decodable & Sendable>(_ row: FleetRow, table: String) throws(GatewayError) -> Revised<Value>
    {
        let revision = try row.integer(0)
        return Revised(value: try open(row.bytes(1), table: table, row: "\(revision)"), revision: revision)
    }

    /// What ``openInstance(_:)`` takes.
    static let instanceColumns = "id, epoch, last_seen, body, announced, holder"

    /// Opens a row with the columns ``instanceColumns``.
    ///
    /// - Throws: `store` if the body is of an earlier time than the last update that was announced, or if the row is
    ///   not in the index under the right that the body names.
    func openInstance(_ row: FleetRow) throws(GatewayError) -> InstanceRecord {
        let id = try row.text(0)
        var record = try openInstance(row.bytes(3), row: id)
        let announced = try row.integer(4)
        guard record.updates ?? 0 >= announced else { throw FleetStore.wasPutBack(record) }
        guard try FleetValue.bytes(row.bytes(5)) == holder(record.grant) else {
            throw FleetTables.isUnderAnotherRight(record.name.instance)
        }
        record.announced = announced
        record.epoch = try row.integer(1)
        if let seen = row.optionalInteger(2).map(Date.init(milliseconds:)), seen > record.lastSeen ?? .distantPast {
            record.lastSeen = seen
        }
        return record
    }

    func seal(_ record: AccessKeyRecord, under digest: [UInt8]) throws -> FleetValue {
        try seal(record, table: "access_key", row: Hexadecimal.text(digest))
    }

    func openKey(_ body: [UInt8], under digest: [UInt8]) throws(GatewayError) -> AccessKeyRecord {
        try open(body, table: "access_key", row: Hexadecimal.text(digest))
    }

    func holder(_ grant: Grant) -> FleetValue { digest(grant.text, table: "holder") }
}

extension Date {
    /// Since 1970.
    var milliseconds: Int64 { Int64(timeIntervalSince1970 * 1000) }

    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
