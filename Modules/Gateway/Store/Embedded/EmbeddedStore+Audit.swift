internal import SallyportSecureStore

/// The collections of an ``EmbeddedStore``'s audit trail.
struct AuditCollections: Sendable {
    /// The ends of the chains, by ``AuditChainName/text``.
    let heads: StoreCollection<String, AuditHead>
    let entries: StoreCollection<String, AuditEntry>
    let checkpoints: StoreCollection<String, StoredCheckpoint>
    /// How far the chains were removed.
    let removed: StoreCollection<String, Int64>

    init(_ store: SecureStore) {
        heads = store.reservedCollection("gateway.audit.heads", of: AuditHead.self)
        entries = store.reservedCollection("gateway.audit", of: AuditEntry.self)
        checkpoints = store.reservedCollection("gateway.audit.checkpoints", of: StoredCheckpoint.self)
        removed = store.reservedCollection("gateway.audit.removed", of: Int64.self)
    }

    static func place(_ number: Int64, of chain: AuditChainName) -> String { "\(chain.text) \(number)" }
}

/// What a transaction comes to: a value, its revision if others must hear of it, and what the trail tells of it.
struct AuditedChange<Value: Sendable>: Sendable {
    let value: Value
    var revision: Int64?
    var event: AuditEvent?
}

extension WriteTransaction {
    /// Adds an entry to its chain.
    func append(_ event: AuditEvent, _ audit: AuditCollections) throws -> AuditEntry {
        let name = AuditChainName(of: event)
        var chain = AuditChain(name, after: try value(for: name.text, in: audit.heads) ?? .empty)
        let entry = chain.append(event)
        try keep(entry, of: name, audit)
        try set(chain.head, for: name.text, in: audit.heads)
        return entry
    }

    fileprivate func keep(_ entry: AuditEntry, of chain: AuditChainName, _ audit: AuditCollections) throws {
        try set(entry, for: AuditCollections.place(entry.number, of: chain), in: audit.entries)
    }
}

extension EmbeddedStore {
    /// Writes a change together with its entry, and signals that there is news if there is a new revision.
    func audited<Value: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction, EmbeddedCollections) throws -> AuditedChange<Value>
    ) async throws -> (value: Value, revision: Int64?) {
        let ((value, entry), revision) = try await write { [audit] transaction, collections in
            let change = try body(transaction, collections)
            let entry = try change.event.map { try transaction.append($0, audit) }
            return ((change.value, entry), change.revision)
        }
        if let entry { told(entry) }
        return (value, revision)
    }

    func append(_ event: AuditEvent) async throws {
        _ = try await audited { _, _ in AuditedChange(value: (), event: event) }
    }

    func append(_ entries: [AuditEntry], of chain: AuditChainName, after head: AuditHead) async throws -> Bool {
        guard let last = entries.last else { return true }
        return try await store.write { [audit] transaction in
            let now = try transaction.value(for: chain.text, in: audit.heads) ?? .empty
            let new = AuditHead(number: last.number, hash: last.hash)
            guard now != new else { return true }
            guard now == head else { return false }
            for entry in entries { try transaction.keep(entry, of: chain, audit) }
            try transaction.set(new, for: chain.text, in: audit.heads)
            return true
        }
    }
}

// MARK: Reading and removing

extension EmbeddedStore {
    func auditHeads() throws -> [AuditChainName: AuditHead] {
        let heads = try store.read { [audit] in try $0.all(in: audit.heads) }
        return Dictionary(heads.compactMap { text, head in AuditChainName(text).map { ($0, head) } }) { $1 }
    }

    func auditRows(
        of chain: AuditChainName, after number: Int64, through last: Int64, limit: Int
    ) throws -> [AuditRow] {
        try store.read { [audit] snapshot in
            var rows: [AuditRow] = []
            var place = number
            while place < last, rows.count < limit {
                place += 1
                let key = AuditCollections.place(place, of: chain)
                do throws(StoreError) {
                    guard let entry = try snapshot.value(for: key, in: audit.entries) else { continue }
                    rows.append(AuditRow(number: place, entry: entry))
                } catch {
                    guard error.code == .damaged || error.code == .encoding else { throw error }
                    rows.append(AuditRow(number: place, entry: nil))
                }
            }
            return rows
        }
    }

    func newestCheckpoint() throws -> StoredCheckpoint? {
        try store.read { [audit] in try $0.value(for: "newest", in: audit.checkpoints) }
    }

    func keep(
        _ checkpoint: StoredCheckpoint, startingAfter starts: [AuditChainName: Int64]
    ) async throws -> Bool {
        try await store.write { [audit] transaction in
            let newest = try transaction.value(for: "newest", in: audit.checkpoints)?.number ?? 0
            guard checkpoint.number == newest + 1 else { return false }
            try transaction.set(checkpoint, for: "newest", in: audit.checkpoints)
            for (chain, start) in starts {
                let removed = try transaction.value(for: chain.text, in: audit.removed) ?? 0
                guard start > removed else { continue }
                for number in removed + 1...start {
                    try transaction.remove(AuditCollections.place(number, of: chain), from: audit.entries)
                }
                try transaction.set(start, for: chain.text, in: audit.removed)
            }
            return true
        }
    }
}
