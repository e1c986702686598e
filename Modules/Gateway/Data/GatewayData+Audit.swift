internal import Foundation
internal import SallyportWire

// What this gateway writes into the audit trail, and what it tells of it.
extension GatewayData {
    /// The note of what an instance does, or what the gateway does to it.
    func note(_ kind: AuditKind, of record: InstanceRecord?) -> AuditNote {
        let event = AuditEvent(kind, by: kind == .lock ? .gateway : .instance, at: clock())
        return AuditNote(event).with(.gateway, settings.name).owned(by: record)
    }

    /// Carries out a command that writes its own entry if it is done; writes it here if it is not.
    func audited(
        _ event: AuditEvent, _ body: () async throws -> AdministrationReply
    ) async throws -> AdministrationReply {
        let reply: AdministrationReply
        do { reply = try await body() } catch {
            // The command's own error is told, whatever becomes of the entry.
            try? await append(event.refused(with: GatewayError(error).code))
            throw error
        }
        if case .needsConfirmation = reply {
            try await append(event.with(outcome: GatewayError.Code.needsConfirmation.description))
        }
        return reply
    }

    /// Is not cut short if the task is cancelled: the attempt has taken place.
    private func append(_ event: AuditEvent) async throws {
        try await Task { [store] in try await store.append(event) }.value
    }
}

// MARK: Answers

extension GatewayData {
    /// The entry of the question comes first: nothing is told without it.
    func answer(_ request: AuditRequest, _ note: AuditNote) async throws -> AuditAnswer {
        try Self.check(request)
        if let event = note.event() { try await store.append(event) }
        switch request {
        case .list(let query): return .entries(try await entries(query))
        case .export: return .chains(try await auditChains())
        case .page(let chain, let number, let last):
            return .entries(try await page(chain, after: number, through: last))
        case .verify(let given): return .report(try await verifyAudit(against: given))
        case .checkpoint: return .checkpoint(try await checkpoint())
        }
    }

    private static func check(_ request: AuditRequest) throws(GatewayError) {
        guard case .list(let query) = request else { return }
        guard 1...AuditRequest.pageLimit ~= query.limit else {
            throw GatewayError(.invalid, "1 to \(AuditRequest.pageLimit) entries are listed at a time.")
        }
    }

    private func page(_ text: String, after number: Int64, through last: Int64) async throws -> [AuditEntry] {
        guard let chain = AuditChainName(text), let head = try await store.auditHeads()[chain] else {
            throw GatewayError(.notFound, "The audit trail has no chain of this name.")
        }
        return try await store.auditRows(
            of: chain, after: max(0, number), through: min(last, head.number), limit: AuditRequest.pageLimit
        ).map { $0.entry ?? .unreadable(chain, $0.number) }
    }

    /// Where the chains begin and end, by name.
    func auditChains() async throws -> [AuditReport.Chain] {
        let starts = try await startsOfChains()
        return try await store.auditHeads().map { chain, head in
            AuditReport.Chain(
                chain: chain.text, first: (starts[chain]?.number ?? 0) + 1, last: head.number)
        }.sorted { $0.chain < $1.chain }
    }

    /// By time; of the same millisecond, by chain and number.
    private func entries(_ query: AuditQuery) async throws -> [AuditEntry] {
        let starts = try await startsOfChains()
        var selection = AuditSelection(of: query)
        for (chain, head) in try await store.auditHeads() {
            let search = AuditSearch(store: store, chain: chain, start: starts[chain]?.number ?? 0, end: head.number)
            selection.add(try await search.entries(query))
        }
        return selection.entries
    }
}

/// Looks for entries in one chain.
private struct AuditSearch {
    private static let page = 1000

    let store: any GatewayStore
    let chain: AuditChainName
    /// The entries beyond this one, up to the other.
    let start: Int64
    let end: Int64

    func entries(_ query: AuditQuery) async throws -> [AuditEntry] {
        if let after = query.after { return try await first(query, after: max(after, start)) }
        return try await last(query)
    }

    private func first(_ query: AuditQuery, after number: Int64) async throws -> [AuditEntry] {
        var (found, place): ([AuditEntry], Int64) = ([], number)
        while place < end, found.count < query.limit {
            let next = min(end, place + Int64(Self.page))
            found += try await rows(after: place, through: next, query)
            place = next
        }
        return Array(found.prefix(query.limit))
    }

    private func last(_ query: AuditQuery) async throws -> [AuditEntry] {
        var (found, place): ([AuditEntry], Int64) = ([], end)
        while place > start, found.count < query.limit {
            let next = max(start, place - Int64(Self.page))
            found = try await rows(after: next, through: place, query) + found
            // Earlier entries are older.
            if let since = query.since,
                let oldest = try await store.auditRows(of: chain, after: next, through: next + 1, limit: 1).first?
                    .entry,
                oldest.time < since
            {
                break
            }
            place = next
        }
        return Array(found.suffix(query.limit))
    }

    private func rows(after number: Int64, through last: Int64, _ query: AuditQuery) async throws -> [AuditEntry] {
        try await store.auditRows(of: chain, after: number, through: last, limit: Self.page)
            .map { $0.entry ?? .unreadable(chain, $0.number) }
            .filter(query.takes)
    }
}

extension AuditQuery {
    fileprivate func takes(_ entry: AuditEntry) -> Bool {
        if let since, entry.time < since { return false }
        return kinds.isEmpty || kinds.contains { $0.rawValue == entry[.kind] }
    }
}

extension AuditEntry {
    /// What stands for a row that cannot be read: a verification says more.
    static func unreadable(_ chain: AuditChainName, _ number: Int64) -> AuditEntry {
        AuditEntry(
            chain: chain.text, number: number, time: 0, fields: [AuditField.kind.rawValue: "unreadable"], previous: [],
            hash: [])
    }
}
