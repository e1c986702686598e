/// The tables of a fleet, and the steps that make them from those of earlier versions.
enum FleetSchema {
    /// What this version writes. A gateway changes nothing in a database of a higher level, which has records whose
    /// members it does not know.
    static let level = Int64(steps.count)

    /// The steps, by the level that each leads to.
    static let steps: [[String]] = [
        [
            """
            CREATE TABLE fleet (
                one boolean PRIMARY KEY DEFAULT true CHECK (one),
                id text NOT NULL, revision bigint NOT NULL, feature_level bigint NOT NULL)
            """,
            """
            CREATE TABLE directory (
                one boolean PRIMARY KEY DEFAULT true CHECK (one), revision bigint NOT NULL, body bytea NOT NULL)
            """,
            """
            CREATE TABLE authority (
                one boolean PRIMARY KEY DEFAULT true CHECK (one), revision bigint NOT NULL, body bytea NOT NULL)
            """,
            """
            CREATE TABLE instance (
                id text PRIMARY KEY, revision bigint NOT NULL, holder bytea NOT NULL, epoch bigint NOT NULL,
                last_seen bigint, body bytea NOT NULL)
            """,
            "CREATE INDEX instance_revision ON instance (revision)",
            "CREATE INDEX instance_holder ON instance (holder)",
            """
            CREATE TABLE access_key (
                digest bytea PRIMARY KEY, holder bytea NOT NULL, is_used boolean NOT NULL DEFAULT false,
                body bytea NOT NULL)
            """,
            "CREATE INDEX access_key_holder ON access_key (holder)",
        ],
        audit,
        gateways,
        relays,
        marks + auditPruning,
    ]

    /// What belongs to the revision, sealed. It needs the fleet's key, so that the statements leave it to
    /// ``upgrade(_:_:)``.
    private static let levelOfMarks: Int64 = 5
    private static let marks = [
        "ALTER TABLE fleet ADD COLUMN mark bytea",
        "ALTER TABLE instance ADD COLUMN announced bigint NOT NULL DEFAULT 0",
    ]

    /// Makes the tables of this version from those of an earlier one, in one transaction.
    ///
    /// - Returns: the level of the tables, which may be higher than this version's.
    /// - Throws: `store` if the role may not alter them.
    @discardableResult
    static func upgrade(_ database: any FleetDatabase, _ key: FleetKey) async throws -> Int64 {
        let found = try await database.transaction(.read) { try await $0.level() }
        guard found < level else { return found }
        try await database.transaction(.write) { transaction in
            guard try await transaction.ownsTables() else {
                throw FleetTables.mustBeUpgraded(from: try await transaction.level())
            }
            // Another gateway may do it at the same time. A step may alter this table, so the lock on its row would not do:
            // each of two gateways would wait for the other's lock on the table.
            try await transaction.run("LOCK TABLE fleet IN ACCESS EXCLUSIVE MODE", [])
            let found = try await transaction.level()
            guard found < level else { return }
            for statement in steps[max(0, Int(found))...].joined() { try await transaction.run(statement, []) }
            try await transaction.run("UPDATE fleet SET feature_level = $1", [.integer(level)])
            guard found < levelOfMarks else { return }
            // What is there is taken for what the fleet has written: nothing tells that it is not.
            let mark = try await transaction.takeMark(key, at: transaction.revision() + 1)
            try await transaction.run(
                "UPDATE fleet SET revision = $1, mark = $2", [.integer(mark.revision), key.seal(mark)])
        }
        return level
    }
}

extension FleetTransaction {
    fileprivate func level() async throws -> Int64 {
        guard let row = try await run("SELECT feature_level FROM fleet", []).first else {
            throw FleetTables.missing("fleet")
        }
        return try row.integer(0)
    }

    /// Whether the tables are the role's, which may alter them then.
    fileprivate func ownsTables() async throws -> Bool {
        let rows = try await run(
            "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = to_regclass('fleet')", [])
        return try rows.first?.integer(0) == 1
    }
}
