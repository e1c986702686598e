import Foundation
import SallyportPostgreSQL
import SallyportSecureStore
import SallyportWire
import Testing

@testable import SallyportGateway

extension GatewayData {
    /// Carries out a command of the test's.
    func perform(_ command: AdministrationCommand) async -> AdministrationReply {
        await perform(command, by: .embedder)
    }
}

extension DataFixture {
    /// All entries of a chain, without an entry about this.
    func entries(of chain: AuditChainName = .administration) async throws -> [AuditEntry] {
        let store = await data.store
        guard let head = try await store.auditHeads()[chain] else { return [] }
        return try await store.auditRows(of: chain, after: 0, through: head.number, limit: .max >> 32)
            .compactMap(\.entry)
    }

    func accessEntries() async throws -> [AuditEntry] { try await entries(of: data.accessChain) }

    /// What relays on machines of their own have told this gateway.
    func relayEntries() async throws -> [AuditEntry] {
        let own = await data.accessChain.text + "."
        var found: [AuditEntry] = []
        for chain in try await data.store.auditHeads().keys where chain.text.hasPrefix(own) {
            found += try await entries(of: chain)
        }
        return found
    }

    func report(against checkpoint: String? = nil) async throws -> AuditReport {
        try await data.verifyAudit(against: checkpoint)
    }

    /// What an attacker can do who may write to the store, and has its keys.
    enum Tampering: Sendable, CaseIterable {
        case change, delete, reorder, cut
    }

    /// Entries 2 and 3 are concerned; for the cut, the last one, with the store's own note of the end.
    func tamper(_ tampering: Tampering) async throws {
        let entries = try await entries()
        switch tampering {
        case .change:
            let old = entries[1]
            try await put(
                AuditEntry(
                    chain: old.chain, number: 2, time: old.time,
                    fields: old.fields.merging(["user": "eve"]) { $1 }, previous: old.previous, hash: old.hash),
                at: 2)
        case .delete: try await put(nil, at: 2)
        case .reorder:
            try await put(entries[2], at: 2)
            try await put(entries[1], at: 3)
        case .cut:
            let last = try #require(entries.last)
            try await put(nil, at: last.number)
            try await set(AuditHead(number: last.number - 1, hash: last.previous))
        }
    }

    private func put(_ entry: AuditEntry?, at number: Int64) async throws {
        guard let fleet, let key = FleetKey(fleet.membership.key) else {
            let audit = AuditCollections(store)
            let place = AuditCollections.place(number, of: .administration)
            return try await store.write { transaction in
                if let entry {
                    try transaction.set(entry, for: place, in: audit.entries)
                } else {
                    try transaction.remove(place, from: audit.entries)
                }
            }
        }
        try await run(fleet, "DELETE FROM audit_admin WHERE n = $1", [.integer(number)])
        guard let entry else { return }
        let body = try key.seal(entry.fields, table: "audit_admin", row: "\(number)")
        try await run(
            fleet, "INSERT INTO audit_admin (n, at, previous, hash, body) VALUES ($1, $2, $3, $4, $5)",
            [.integer(number), .integer(entry.time), .bytes(entry.previous), .bytes(entry.hash), body])
    }

    private func set(_ head: AuditHead) async throws {
        guard let fleet else {
            let audit = AuditCollections(store)
            return try await store.write { try $0.set(head, for: "administration", in: audit.heads) }
        }
        try await run(
            fleet, "UPDATE audit_chain SET n = $1, hash = $2 WHERE chain = 'administration'",
            [.integer(head.number), .bytes(head.hash)])
    }

    /// Removes what is beyond the limits, which a database has to allow. Its clock is not the test's.
    func keepAudit(_ retention: AuditRetention = .standard) async throws {
        if let fleet {
            try await run(
                fleet, "UPDATE audit_retention SET administration = $1, access = $2, access_age = $3",
                [.integer(retention.administration), .integer(retention.access), .integer(-retention.accessAge)])
        }
        try await data.keepAudit(retention)
    }

    /// Removes the checkpoints of the store.
    func dropCheckpoints() async throws {
        guard let fleet else {
            let audit = AuditCollections(store)
            return try await store.write { try $0.removeAll(from: audit.checkpoints) }
        }
        try await run(fleet, "DELETE FROM audit_checkpoint", [])
    }

    /// Puts another checkpoint in the place of the store's.
    func replaceCheckpoint(with text: String) async throws {
        guard let number = try await data.store.newestCheckpoint()?.number else { return }
        guard let fleet else {
            let audit = AuditCollections(store)
            return try await store.write {
                try $0.set(StoredCheckpoint(number: number, text: text), for: "newest", in: audit.checkpoints)
            }
        }
        try await run(fleet, "UPDATE audit_checkpoint SET body = $1", [.text(text)])
    }

    /// From now on, no entry can be written.
    func breakAudit() async throws {
        guard let fleet else {
            // Not a head: it does not decode.
            let heads = store.reservedCollection("gateway.audit.heads", of: String.self)
            return try await store.write { transaction in
                for chain: AuditChainName in [.administration, .renewals] {
                    try transaction.set("nonsense", for: chain.text, in: heads)
                }
            }
        }
        for table in ["audit_admin", "audit_access"] {
            try await run(fleet, "ALTER TABLE \(table) RENAME TO \(table)_away", [])
        }
    }

    func run(_ fleet: TestFleet, _ statement: String, _ values: [FleetValue]) async throws {
        let database = try fleet.owner()
        _ = try await database.transaction(.write) { try await $0.run(statement, values) }
        await database.close()
    }
}
