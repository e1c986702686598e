internal import Foundation

/// How much of the audit trail is kept.
struct AuditRetention: Sendable {
    /// The most entries of the chain of administration, and of each gateway's own.
    var administration: Int64 = 100_000
    var access: Int64 = 250_000
    /// Entries of access are removed after so long, in milliseconds: 90 days.
    var accessAge: Int64 = 90 * 86_400_000

    static let standard = AuditRetention()

    /// What is removed: entries up to a number, and entries before a time.
    struct Limits {
        let number: Int64
        let time: Int64
    }

    func limits(of chain: AuditChainName, end: Int64, now: Int64) -> Limits {
        switch chain {
        case .administration: Limits(number: end - administration, time: .min)
        case .access: Limits(number: end - access, time: now - accessAge)
        }
    }
}

// Checkpoints and verification.
extension GatewayData {
    private static let page = 1000
    /// How often a verification begins again because entries were removed meanwhile.
    private static let verifications = 3

    /// The newest checkpoint, which is made if entries have come since.
    ///
    /// - Throws: `store` if the trail is not what the last checkpoint says: what was changed is not signed.
    func checkpoint() async throws -> String { try await checkpoint(keeping: nil).text }

    /// Removes what is beyond the limits, and signs where the chains begin and end.
    ///
    /// - Throws: as ``checkpoint()``; then nothing is removed either.
    func keepAudit(_ retention: AuditRetention = .standard) async throws {
        while try await checkpoint(keeping: retention).hasRemoved {}
    }

    private func checkpoint(keeping retention: AuditRetention?) async throws -> (text: String, hasRemoved: Bool) {
        while true {
            let stored = try await store.newestCheckpoint()
            do {
                if let made = try await checkpoint(after: stored, keeping: retention) { return made }
            } catch {
                // What another gateway removed with a newer checkpoint is missing, though the trail was not changed.
                guard try await store.newestCheckpoint()?.number != stored?.number else { throw error }
            }
        }
    }

    /// - Returns: nil if another gateway has made one meanwhile.
    private func checkpoint(
        after stored: StoredCheckpoint?, keeping retention: AuditRetention?
    ) async throws -> (text: String, hasRemoved: Bool)? {
        // The stored checkpoint may be signed under an authority of which this gateway has not heard; and this
        // gateway's signer may be revoked, so that its signature would not be trusted.
        try await catchUp()
        let known = try stored.map { try trusted($0, authorities.record.signers) }
        let heads = try await store.auditHeads()
        if let known { try await check(heads, extend: known) }
        let starts = try await starts(after: known?.startsByName ?? [:], heads, retention)
        if let stored, let known, known.tells(heads, starts) { return (stored.text, false) }
        let made = AuditCheckpoint(
            number: (stored?.number ?? 0) + 1, time: clock().milliseconds, gateway: settings.name,
            heads: heads, starts: starts)
        let text = try made.signed(by: checkpointSigner(of: known?.generation ?? 0))
        let kept = StoredCheckpoint(number: made.number, text: text)
        guard try await store.keep(kept, startingAfter: starts.mapValues(\.number)) else { return nil }
        return (text, starts != known?.startsByName ?? [:])
    }

    /// Signs what the newest checkpoint says anew, before its signer is no longer trusted: without a checkpoint that is
    /// trusted, no later one can be made. The trail may have been tampered with since, so nothing of it is added.
    ///
    /// - Parameter generation: the least one of the signer; it may be one that is not in force yet.
    func renewCheckpoint(generation: Int64) async throws {
        while let stored = try await store.newestCheckpoint() {
            try await catchUp()
            // A checkpoint that is not trusted now must not become so by a new signature, nor hinder a revocation.
            guard let known = try? trusted(stored, authorities.record.signers) else { return }
            let made = AuditCheckpoint(
                number: known.number + 1, time: clock().milliseconds, gateway: settings.name,
                heads: known.headsByName, starts: known.startsByName)
            let text = try made.signedAnew(by: checkpointSigner(of: max(generation, known.generation)))
            let isKept = try await store.keep(
                StoredCheckpoint(number: made.number, text: text),
                startingAfter: known.startsByName.mapValues(\.number))
            if isKept { return }
        }
    }

    /// The signer of a checkpoint. Its generation is never lower than `least`, that of the checkpoint before. A
    /// revocation that is under way may have signed that one with the next generation: then a signer is made for this
    /// one signature.
    private func checkpointSigner(of least: Int64) throws(GatewayError) -> StoredIdentity {
        guard least > authorities.record.signers else { return signer }
        return try authorities.issuing.signer(generation: least, now: clock())
    }

    /// - Throws: `store` if a chain has lost its end since the last checkpoint, or has another entry there.
    private func check(_ heads: [AuditChainName: AuditHead], extend known: AuditCheckpoint) async throws {
        for (chain, mark) in known.headsByName {
            let start = known.startsByName[chain]?.number ?? 0
            let now = heads[chain]?.number ?? 0
            guard now >= mark.number else { throw Self.wasChanged(chain, mark.number) }
            guard mark.number > start else { continue }
            let row = try await store.auditRows(
                of: chain, after: mark.number - 1, through: mark.number, limit: 1
            ).first
            guard row?.entry?.hash == mark.hash else { throw Self.wasChanged(chain, mark.number) }
        }
    }

    private static func wasChanged(_ chain: AuditChainName, _ number: Int64) -> GatewayError {
        GatewayError(
            .store,
            "The audit trail was changed at entry \(number) of \(chain.text), so it is neither signed nor shortened: "
                + "`admin audit verify` says more.")
    }

    /// - Throws: `unauthorized` if it is not signed by a gateway under these authorities, or by a revoked signer.
    private func trusted(_ stored: StoredCheckpoint, _ generation: Int64) throws(GatewayError) -> AuditCheckpoint {
        let checkpoint = try AuditCheckpoint(
            verifying: stored.text, authorities: authorities.all, generation: generation)
        guard checkpoint.number == stored.number else {
            throw GatewayError(.unauthorized, "The newest checkpoint of the audit trail stands in another one's place.")
        }
        return checkpoint
    }

    private func trusted(_ stored: StoredCheckpoint) -> AuditCheckpoint? {
        try? trusted(stored, authorities.record.signers)
    }

    /// The entries before the first that are kept.
    func startsOfChains() async throws -> [AuditChainName: AuditHead] {
        try await store.newestCheckpoint().flatMap(trusted)?.startsByName ?? [:]
    }

    /// Where the chains begin once what is beyond the limits is removed.
    private func starts(
        after old: [AuditChainName: AuditHead], _ heads: [AuditChainName: AuditHead], _ retention: AuditRetention?
    ) async throws -> [AuditChainName: AuditHead] {
        guard let retention else { return old }
        var starts = old
        for (chain, head) in heads {
            let start = old[chain] ?? .empty
            let limits = retention.limits(of: chain, end: head.number, now: clock().milliseconds)
            // Most often there is nothing to remove, which the first row tells.
            for limit in [1, 10 * Self.page] {
                let rows = try await store.auditRows(
                    of: chain, after: start.number, through: head.number, limit: limit)
                guard let last = try Self.last(of: rows, of: chain, after: start, beyond: limits) else { break }
                starts[chain] = last
            }
        }
        return starts
    }

    /// The last row that is to be removed, nil for none. What was changed is not removed: it is to be found.
    private static func last(
        of rows: [AuditRow], of chain: AuditChainName, after start: AuditHead, beyond limits: AuditRetention.Limits
    ) throws -> AuditHead? {
        var verifier = AuditVerifier(chain, after: start, marks: [])
        var last: AuditHead?
        for row in rows {
            guard row.number <= limits.number || row.entry?.time ?? .max < limits.time else { break }
            verifier.check(row)
            guard verifier.faults.isEmpty, let entry = row.entry else { throw wasChanged(chain, row.number) }
            last = AuditHead(number: row.number, hash: entry.hash)
        }
        return last
    }

    /// Looks at every entry.
    ///
    /// - Parameter text: a checkpoint that lay elsewhere; nil if there is none.
    /// - Throws: `unauthorized` if the given checkpoint is not signed by a gateway under an authority that is known here.
    func verifyAudit(against text: String?) async throws -> AuditReport {
        let given = try text.map {
            try AuditCheckpoint(
                verifying: $0.trimmingCharacters(in: .whitespacesAndNewlines), authorities: authorities.all,
                generation: 1)
        }
        for _ in 1..<Self.verifications {
            let before = try await store.newestCheckpoint()?.number
            let report = try await verified(against: given)
            if report.isSound { return report }
            if try await store.newestCheckpoint()?.number == before { return report }
        }
        return try await verified(against: given)
    }

    private func verified(against given: AuditCheckpoint?) async throws -> AuditReport {
        var report = AuditReport()
        var stored: AuditCheckpoint?
        if let newest = try await store.newestCheckpoint() {
            stored = trusted(newest)
            if stored == nil {
                report.faults.append(.init(chain: "", number: 0, through: 0, kind: .unsigned, origin: .checkpoint))
            }
        }
        report.checkpoint = stored?.time
        let heads = try await store.auditHeads()
        let names = [stored, given].compactMap { $0 }.reduce(into: Set(heads.keys)) {
            $0.formUnion($1.headsByName.keys)
        }
        for chain in names.sorted(by: { $0.text < $1.text }) {
            var marks: [AuditMark] = []
            if let head = heads[chain] { marks.append(.init(head: head, origin: .head)) }
            if let head = stored?.headsByName[chain] { marks.append(.init(head: head, origin: .checkpoint)) }
            if let head = given?.headsByName[chain] { marks.append(.init(head: head, origin: .given)) }
            let start = stored?.startsByName[chain] ?? .empty
            let verifier = try await verify(AuditVerifier(chain, after: start, marks: marks))
            report.faults += verifier.faults
            report.chains.append(.init(chain: chain.text, first: start.number + 1, last: verifier.position))
        }
        return report
    }

    private func verify(_ verifier: AuditVerifier) async throws -> AuditVerifier {
        var verifier = verifier
        let last = verifier.farthest
        while true {
            let rows = try await store.auditRows(
                of: verifier.chain, after: verifier.position, through: last, limit: Self.page)
            for row in rows { verifier.check(row) }
            if rows.isEmpty { break }
        }
        verifier.end()
        return verifier
    }
}
