extension FleetStore {
    /// Runs a transaction together with the entry of what it changes.
    ///
    /// - Parameter body: returns the value, and what the trail tells of it; it has taken every other lock.
    func audited<Value: Sendable>(
        _ body: @Sendable (any FleetTransaction) async throws -> (Value, AuditEvent?)
    ) async throws -> Value {
        let (key, known) = (key, auditedNumbers)
        let (value, entry) = try await database.transaction(.write) { transaction -> (Value, AuditEntry?) in
            let (value, event) = try await body(transaction)
            guard let event else { return (value, nil) }
            return (value, try await transaction.append(event, key, known: known))
        }
        if let entry { told(entry) }
        return value
    }

    func append(_ event: AuditEvent) async throws { try await audited { _ in ((), event) } }

    func append(_ entries: [AuditEntry], of chain: AuditChainName, after head: AuditHead) async throws -> Bool {
        guard let last = entries.last else { return true }
        let key = key
        return try await database.transaction(.write) { transaction -> Bool in
            try await transaction.begin(chain)
            // Of a later version's database too: these entries are added, and no record is written anew.
            let now = try await transaction.lockedHead(of: chain).head
            let new = AuditHead(number: last.number, hash: last.hash)
            guard now != new else { return true }
            guard now == head else { return false }
            try await transaction.insert(entries, of: chain, key)
            try await transaction.keep(new, of: chain)
            return true
        }
    }
}

// MARK: Reading and removing

extension FleetStore {
    func auditHeads() async throws -> [AuditChainName: AuditHead] {
        let rows = try await database.transaction(.read) {
            try await $0.run("SELECT chain, n, hash FROM audit_chain", [])
        }
        let heads = try rows.map { row in
            (try row.text(0), try row.auditHead(number: 1, hash: 2))
        }
        return Dictionary(heads.compactMap { text, head in AuditChainName(text).map { ($0, head) } }) { $1 }
    }

    func auditRows(
        of chain: AuditChainName, after number: Int64, through last: Int64, limit: Int
    ) async throws -> [AuditRow] {
        let key = key
        let (table, condition, values) = chain.rows(limit: [number, last, Int64(limit)])
        return try await database.transaction(.read) { transaction in
            try await transaction.run(
                "SELECT n, at, previous, hash, body FROM \(table) WHERE n > $1 AND n <= $2\(condition) ORDER BY n LIMIT $3",
                values
            ).map { row in try key.openAudit(row, of: chain) }
        }
    }

    func newestCheckpoint() async throws -> StoredCheckpoint? {
        try await database.transaction(.read) { transaction in
            let rows = try await transaction.run(
                "SELECT n, body FROM audit_checkpoint ORDER BY n DESC LIMIT 1", [])
            return try rows.first.map { StoredCheckpoint(number: try $0.integer(0), text: try $0.text(1)) }
        }
    }

    func keep(
        _ checkpoint: StoredCheckpoint, startingAfter starts: [AuditChainName: Int64]
    ) async throws -> Bool {
        try await database.transaction(.write) { transaction -> Bool in
            let rows = try await transaction.run(
                """
                INSERT INTO audit_checkpoint (n, body)
                SELECT $1::bigint, $2::text WHERE $1::bigint = (SELECT COALESCE(max(n), 0) + 1 FROM audit_checkpoint)
                ON CONFLICT DO NOTHING RETURNING n
                """, [.integer(checkpoint.number), .text(checkpoint.text)])
            guard !rows.isEmpty else { return false }
            // It removes the earlier checkpoints too. A role without rights to delete may call it.
            for (chain, start) in starts.isEmpty ? [.administration: 0] : starts {
                try await transaction.run(
                    "SELECT audit_prune($1, $2)", [chain.gateway.map(FleetValue.text) ?? .null, .integer(start)])
            }
            return true
        }
    }
}

// MARK: In a transaction

extension FleetTransaction {
    /// Adds an entry to its chain, whose end stays locked until the end of the transaction.
    ///
    /// - Parameter known: for each chain, the number of an entry that was seen before: the chain must not have gone
    ///   back behind it.
    fileprivate func append(_ event: AuditEvent, _ key: FleetKey, known: [String: Int64]) async throws -> AuditEntry {
        let name = AuditChainName(of: event)
        try await begin(name)
        let (head, level) = try await lockedHead(of: name)
        // A gateway of an earlier version would leave out what it does not know of the records that it changes.
        guard level <= FleetSchema.level else { throw FleetTables.isOfLaterVersion(level) }
        let least = known[name.text] ?? 0
        guard head.number >= least else { throw FleetTables.wasPutBack(name.table, head.number, least) }
        var chain = AuditChain(name, after: head)
        let entry = chain.append(event)
        try await insert([entry], of: name, key)
        try await keep(chain.head, of: name)
        return entry
    }

    /// The schema has begun the chain of administration, which is never without a head.
    fileprivate func begin(_ chain: AuditChainName) async throws {
        guard chain != .administration else { return }
        try await run(
            "INSERT INTO audit_chain (chain, n, hash) VALUES ($1, 0, $2) ON CONFLICT DO NOTHING",
            [.text(chain.text), .bytes(AuditHead.empty.hash)])
    }

    /// The head, locked until the end of the transaction, and the level of the database, in one statement.
    fileprivate func lockedHead(of chain: AuditChainName) async throws -> (head: AuditHead, level: Int64) {
        let rows = try await run(
            """
            SELECT audit_chain.n, hash, feature_level FROM audit_chain CROSS JOIN fleet WHERE chain = $1
            FOR UPDATE OF audit_chain
            """, [.text(chain.text)])
        guard let row = rows.first else { throw FleetTables.missing("audit_chain") }
        return (try row.auditHead(number: 0, hash: 1), try row.integer(2))
    }

    fileprivate func keep(_ head: AuditHead, of chain: AuditChainName) async throws {
        try await run(
            "UPDATE audit_chain SET n = $2, hash = $3 WHERE chain = $1",
            [.text(chain.text), .integer(head.number), .bytes(head.hash)])
    }

    /// In statements of a hundred rows: each is a round trip.
    fileprivate func insert(_ entries: [AuditEntry], of chain: AuditChainName, _ key: FleetKey) async throws {
        for start in stride(from: 0, to: entries.count, by: 100) {
            let part = entries[start..<min(start + 100, entries.count)]
            var (values, rows): ([FleetValue], [String]) = ([], [])
            for entry in part {
                let row = try key.columns(of: entry, chain)
                rows.append("(\((1...row.count).map { "$\(values.count + $0)" }.joined(separator: ", ")))")
                values += row
            }
            try await run("INSERT INTO \(chain.columns) VALUES \(rows.joined(separator: ", "))", values)
        }
    }
}

extension FleetRow {
    /// The number of an entry. What no chain comes to is refused: gateways count on from it.
    fileprivate func auditNumber(_ column: Int) throws(GatewayError) -> Int64 {
        let number = try integer(column)
        guard 0..<(1 << 53) ~= number else { throw FleetTables.isNoPlaceInAChain }
        return number
    }

    fileprivate func auditHead(number: Int, hash: Int) throws(GatewayError) -> AuditHead {
        let head = AuditHead(number: try auditNumber(number), hash: try bytes(hash))
        guard head.hash.count == AuditEntry.hashLength else { throw FleetTables.isNoPlaceInAChain }
        return head
    }
}

extension AuditChainName {
    fileprivate var table: String {
        switch self {
        case .administration: "audit_admin"
        case .access: "audit_access"
        }
    }

    /// Nil for the chain of administration.
    fileprivate var gateway: String? {
        switch self {
        case .administration: nil
        case .access(let gateway): gateway
        }
    }

    fileprivate var columns: String {
        switch self {
        case .administration: "audit_admin (n, at, previous, hash, body)"
        case .access: "audit_access (n, at, previous, hash, body, gateway)"
        }
    }

    /// The table, a condition for the chain's rows, and the values of both.
    fileprivate func rows(limit values: [Int64]) -> (table: String, condition: String, values: [FleetValue]) {
        let values = values.map(FleetValue.integer)
        switch self {
        case .administration: return (table, "", values)
        case .access(let gateway): return (table, " AND gateway = $\(values.count + 1)", values + [.text(gateway)])
        }
    }

    /// What a body is bound to, beside its table.
    fileprivate func row(_ number: Int64) -> String {
        switch self {
        case .administration: "\(number)"
        case .access(let gateway): "\(gateway) \(number)"
        }
    }
}

extension FleetKey {
    fileprivate func columns(of entry: AuditEntry, _ chain: AuditChainName) throws -> [FleetValue] {
        let row: [FleetValue] = [
            .integer(entry.number), .integer(entry.time), .bytes(entry.previous), .bytes(entry.hash),
            try seal(entry.fields, table: chain.table, row: chain.row(entry.number)),
        ]
        guard case .access(let gateway) = chain else { return row }
        return row + [.text(gateway)]
    }

    /// Columns `n`, `at`, `previous`, `hash` and `body`.
    fileprivate func openAudit(_ row: FleetRow, of chain: AuditChainName) throws(GatewayError) -> AuditRow {
        let number = try row.auditNumber(0)
        guard
            let fields: [String: String] = try? open(row.bytes(4), table: chain.table, row: chain.row(number))
        else { return AuditRow(number: number, entry: nil) }
        return AuditRow(
            number: number,
            entry: AuditEntry(
                chain: chain.text, number: number, time: try row.integer(1), fields: fields,
                previous: try row.bytes(2), hash: try row.bytes(3)))
    }
}
