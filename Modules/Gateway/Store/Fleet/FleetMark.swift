internal import SallyportWire

/// What belongs to a revision of a fleet's database: of each table that has no more rows than one, the revision of its
/// last change; of each other table, the digest of its rows.
///
/// The database has that of its revision, sealed with the fleet's key for this revision, and each announced change writes
/// it anew. So a row that was put back, removed or added by another than a gateway is found, also by a gateway that did not
/// run when the row was changed. A gateway's own store has that of the revision which it has followed. By it a gateway that
/// starts notices an older database in the place of the one that it knew, which would bring back permissions that were
/// withdrawn.
///
/// Access keys do not belong to it, nor does what an instance reports of itself, which has no revision, except for its
/// version.
struct FleetMark: Codable, Sendable, Hashable {
    var revision: Int64
    var directory: Int64 = 0
    var authorities: Int64 = 0
    var relays: Int64 = 0
    var instances = FleetDigest()
    var gateways = FleetDigest()

    /// The tables that have one row at most.
    static var singles: [(table: String, member: WritableKeyPath<FleetMark, Int64>)] {
        [("directory", \.directory), ("authority", \.authorities), ("relay", \.relays)]
    }

    /// - Parameter now: that of the database.
    /// - Throws: `store` if it is of an earlier time than this one, or another one of the same revision.
    func check(isBefore now: FleetMark) throws(GatewayError) {
        guard now.revision >= revision else { throw FleetEra.wasPutBack(now.revision, revision) }
        // Of two histories that have parted, each may have the revision.
        if now.revision == revision { try check(now) }
    }

    /// - Parameter found: what the tables have at this revision.
    func check(_ found: FleetMark) throws(GatewayError) {
        for (table, member) in Self.singles where found[keyPath: member] != self[keyPath: member] {
            throw FleetTables.isNotOf(revision, table)
        }
        guard found.instances == instances else { throw FleetTables.isNotOf(revision, "instance") }
        guard found.gateways == gateways else { throw FleetTables.isNotOf(revision, "gateway") }
    }

    /// Enters a change of a table that has one row at most.
    ///
    /// - Parameter old: the revision of the row before.
    mutating func change(_ member: WritableKeyPath<FleetMark, Int64>, from old: Int64) throws(GatewayError) {
        guard self[keyPath: member] == old else {
            let table = Self.singles.first { $0.member == member }?.table ?? ""
            throw FleetTables.isNotOf(revision - 1, table)
        }
        self[keyPath: member] = revision
    }
}

extension FleetTransaction {
    /// What belongs to the database's revision now.
    ///
    /// - Parameter newest: a revision that was seen before; the database must not have gone back behind it, nor been
    ///   restored since.
    func mark(_ key: FleetKey, since newest: Int64) async throws -> FleetMark {
        guard let row = try await run("SELECT revision, mark FROM fleet", []).first else {
            throw FleetTables.missing("fleet")
        }
        try FleetEra.check(row.integer(0), since: newest)
        return try key.openMark(row.bytes(1), at: row.integer(0))
    }

    /// Takes what the tables hold, as they are now, for what belongs to a revision.
    ///
    /// - Parameter areInstancesNew: whether the instances get the revision, so that all who follow read them again.
    func takeMark(_ key: FleetKey, at revision: Int64, areInstancesNew: Bool = false) async throws -> FleetMark {
        var mark = FleetMark(revision: revision)
        for (table, member) in FleetMark.singles {
            let row = try await run("SELECT revision FROM \(table)", []).first
            mark[keyPath: member] = try row?.integer(0) ?? 0
        }
        mark.instances = try await takeInstances(key, at: areInstancesNew ? revision : nil)
        let gateways = try await run("SELECT id, revision, body FROM gateway", []).map(key.openGateway)
        mark.gateways = key.gatewayHash.digest(of: gateways)
        return mark
    }

    /// How many instances are taken at a time: one statement for all of a large fleet would not end in time.
    private static var takenAtATime: Int { 500 }

    /// Takes the newest update of each instance for one that was announced.
    ///
    /// - Parameter revision: what the rows get; nil leaves theirs.
    private func takeInstances(_ key: FleetKey, at revision: Int64?) async throws -> FleetDigest {
        try await mayTakeLong()
        let hash = key.instanceHash
        var (digest, last) = (FleetDigest(), "")
        while true {
            let rows = try await run(
                """
                SELECT id, epoch, last_seen, body, 0::bigint, holder FROM instance
                WHERE id > $1 ORDER BY id LIMIT \(Self.takenAtATime)
                """, [.text(last)])
            guard let end = rows.last else { return digest }
            let records = try rows.map(key.openInstance)
            for record in records { digest.toggle(hash.digest(of: record.name.instance, record.updates ?? 0)) }
            try await take(records, at: revision)
            last = try end.text(0)
        }
    }

    private func take(_ records: [InstanceRecord], at revision: Int64?) async throws {
        let places = records.indices.map { "($\(2 * $0 + 2)::text, $\(2 * $0 + 3)::bigint)" }
        let taken = records.flatMap { record -> [FleetValue] in
            [.text(record.name.instance.description), .integer(record.updates ?? 0)]
        }
        try await run(
            """
            UPDATE instance SET announced = taken.number, revision = COALESCE($1::bigint, instance.revision)
            FROM (VALUES \(places.joined(separator: ", "))) AS taken (id, number) WHERE instance.id = taken.id
            """, [revision.map(FleetValue.integer) ?? .null] + taken)
    }
}

extension FleetKey {
    func seal(_ mark: FleetMark) throws -> FleetValue { try seal(mark, table: "fleet", row: "\(mark.revision)") }

    fileprivate func openMark(_ body: [UInt8], at revision: Int64) throws(GatewayError) -> FleetMark {
        try open(body, table: "fleet", row: "\(revision)")
    }

    func openMark(_ row: FleetRow) throws(GatewayError) -> FleetMark {
        try openMark(row.bytes(1), at: row.integer(0))
    }
}

/// The revisions of a database between two restorations from a backup. Those after a restoration are above all that there
/// were before, so that gateways and relays take what was restored for the newest.
enum FleetEra {
    /// How many revisions an era has: a fleet does not reach its end.
    static let length: Int64 = 1 << 40

    /// The revisions that a database comes to, of each of which the end of its era is a number.
    static let possible: Range<Int64> = 0..<(1 << 62)

    /// The first revision of the era after the one of `revision`.
    static func end(of revision: Int64) -> Int64 { (revision / length + 1) * length }

    /// The revisions that a database may have which was seen before.
    ///
    /// - Parameter newest: the highest one that was seen; 0 for none.
    static func continuing(_ newest: Int64) -> Range<Int64> { newest..<(newest == 0 ? .max : end(of: newest)) }

    /// - Throws: `store` if the database has gone back, or was restored, since `newest` was seen of it.
    static func check(_ now: Int64, since newest: Int64) throws(GatewayError) {
        let possible = continuing(newest)
        guard now >= possible.lowerBound else { throw wasPutBack(now, newest) }
        guard now < possible.upperBound else { throw wasRestored }
    }

    static func wasPutBack(_ now: Int64, _ newest: Int64) -> GatewayError {
        GatewayError(
            .store,
            "The database is at revision \(now) and was at \(newest) before: it was put back, or it is an old primary that "
                + "has woken. Nothing is taken from it, and nothing is written. If it was restored from a backup on purpose: "
                + "`gateway fleet restored`.")
    }

    private static let wasRestored = GatewayError(
        .store,
        "The database was restored from a backup since this gateway read it. What is known stays in force, and nothing is "
            + "written: start this gateway again.")
}
