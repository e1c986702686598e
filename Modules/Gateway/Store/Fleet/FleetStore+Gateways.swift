internal import Foundation

extension FleetStore {
    func register(_ gateway: GatewayRecord, at now: Date) async throws -> Int64? {
        let (key, newest, known) = (key, newest, gatewayRevisions)
        let id = FleetValue.text(gateway.id.description)
        let revision = try await database.transaction(.write) { transaction -> Int64? in
            let rows = try await transaction.run(
                "SELECT id, revision, body FROM gateway WHERE id = $1 FOR UPDATE", [id])
            let old = try rows.first.map(key.openGateway)
            if let old {
                try old.check(against: known)
                if old.value == gateway {
                    try await transaction.run(
                        "UPDATE gateway SET seen = $2, ended = NULL WHERE id = $1", [id, .integer(now.milliseconds)])
                    return nil
                }
            }
            let revision = try await transaction.advanceGateways(from: newest, key) { mark in
                if let old { mark.gateways.toggle(key.gatewayHash.digest(of: [old])) }
                mark.gateways.toggle(key.gatewayHash.digest(of: gateway.id, mark.revision))
            }
            if old?.value.hosts != gateway.hosts { try await transaction.checkRelays(beside: gateway, key) }
            try await transaction.run(
                """
                INSERT INTO gateway (id, role, revision, applied, seen, body) VALUES ($1, 'gateway', $2, 0, $3, $4)
                ON CONFLICT (id) DO UPDATE SET revision = $2, seen = $3, ended = NULL, body = $4
                """,
                [id, .integer(revision), .integer(now.milliseconds), key.seal(gateway, at: revision)])
            try await transaction.checkNumberOfGateways()
            return revision
        }
        if let revision { note(revision) }
        return revision
    }

    /// One statement, without the lock of the fleet and without a notification.
    func note(_ presence: GatewayPresence, of gateway: GatewayIdentifier) async throws -> Bool {
        try await database.transaction(.write) { transaction in
            let rows = try await transaction.run(
                "UPDATE gateway SET applied = $2, seen = $3, ended = $4 WHERE id = $1 RETURNING revision",
                [
                    .text(gateway.description), .integer(presence.applied), .integer(presence.seen.milliseconds),
                    presence.ended.map { .integer($0.milliseconds) } ?? .null,
                ])
            return !rows.isEmpty
        }
    }

    func gateways() async throws -> [ListedGateway] {
        let (key, known) = (key, gatewayRevisions)
        return try await database.transaction(.read) { transaction in
            let rows = try await transaction.run("SELECT id, revision, body, applied, seen, ended FROM gateway", [])
            return try rows.map { row in
                let gateway = try key.openGateway(row)
                try gateway.check(against: known)
                let presence = GatewayPresence(
                    seen: Date(milliseconds: try row.integer(4)), applied: try row.integer(3),
                    ended: row.optionalInteger(5).map(Date.init(milliseconds:)))
                return ListedGateway(record: gateway.value, presence: presence)
            }
        }
    }

    func remove(_ gateway: GatewayIdentifier, audit note: AuditNote) async throws -> Int64? {
        let (key, newest) = (key, newest)
        let revision = try await audited { transaction -> (Int64?, AuditEvent?) in
            let rows = try await transaction.run(
                "DELETE FROM gateway WHERE id = $1 RETURNING revision", [.text(gateway.description)])
            guard let old = try rows.first?.integer(0) else { return (nil, note.event(changed: false)) }
            let revision = try await transaction.advanceGateways(from: newest, key) { mark in
                mark.gateways.toggle(key.gatewayHash.digest(of: gateway, old))
            }
            return (revision, note.event())
        }
        if let revision { self.note(revision) }
        return revision
    }
}

extension FleetTransaction {
    /// All gateways, with the revision of the last change of one; nil if it was not after the given one.
    func gateways(after revision: Int64) async throws -> (rows: [FleetRow], revision: Int64)? {
        guard let row = try await run("SELECT gateways FROM fleet", []).first else {
            throw FleetTables.missing("fleet")
        }
        let changed = try row.integer(0)
        guard changed > revision else { return nil }
        return (try await run("SELECT id, revision, body FROM gateway", []), changed)
    }

    /// Begins the next revision, in which a gateway's record changes.
    fileprivate func advanceGateways(
        from known: Int64, _ key: FleetKey, _ edit: (inout FleetMark) throws -> Void
    ) async throws -> Int64 {
        let revision = try await advance(from: known, key, edit)
        try await run("UPDATE fleet SET gateways = $1", [.integer(revision)])
        return revision
    }

    /// Under the lock of the fleet, as relays are added.
    fileprivate func checkRelays(beside gateway: GatewayRecord, _ key: FleetKey) async throws {
        let relays: Revised<RelayTable>? = try await single("relay", after: 0, key)
        try relays?.value.check(besideGatewayNamed: gateway.hosts)
    }

    /// Under the lock of the fleet, so that no two gateways are each the last one.
    fileprivate func checkNumberOfGateways() async throws {
        let count = try await run("SELECT count(*) FROM gateway", []).first?.integer(0) ?? 0
        guard count <= GatewayRecord.limit else {
            throw GatewayError(
                .invalid, "A fleet has at most \(GatewayRecord.limit) gateways: `admin gateway remove` removes one.")
        }
    }
}

extension FleetKey {
    fileprivate func seal(_ gateway: GatewayRecord, at revision: Int64) throws -> FleetValue {
        try seal(gateway, table: "gateway", row: "\(gateway.id) \(revision)")
    }

    /// Columns `id`, `revision` and `body`.
    func openGateway(_ row: FleetRow) throws(GatewayError) -> Revised<GatewayRecord> {
        let revision = try row.integer(1)
        return Revised(
            value: try open(row.bytes(2), table: "gateway", row: "\(row.text(0)) \(revision)"), revision: revision)
    }
}

extension Revised<GatewayRecord> {
    /// - Parameter known: the revisions of the records that were seen before.
    func check(against known: [GatewayIdentifier: Int64]) throws(GatewayError) {
        guard let least = known[value.id], revision < least else { return }
        throw FleetTables.wasPutBack("gateway", revision, least)
    }
}
