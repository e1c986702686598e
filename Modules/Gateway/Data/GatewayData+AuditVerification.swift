internal import Foundation

/// How much of the audit trail is kept.
struct AuditRetention: Sendable {
    /// The most entries of the chain of administration, and of each gateway's own.
    var administration: Int64 = 100_000
    var access: Int64 = 250_000
    /// Entries of access are removed after so long, in milliseconds: 90 days.
    var accessAge: Int64 = 90 * 86_400_000

    static let standard = AuditRetention()
}

// Checkpoints and verification.
extension GatewayData {
    private static let page = 1000
    /// How often a verification begins again because entries were removed meanwhile.
    private static let verifications = 3

    /// The newest checkpoint, which is made if entries have come since.
    ///
    /// - Parameter generation: the least generation of signers whose checkpoint is gone on from.
    func checkpoint(after generation: Int64? = nil) async throws -> String {
        try await checkpoint(keeping: nil, after: generation ?? authorities.record.signers).text
    }

    /// Removes what is beyond the limits, and signs where the chains begin and end.
    func keepAudit(_ retention: AuditRetention = .standard) async throws {
        while try await checkpoint(keeping: retention, after: authorities.record.signers).hasRemoved {}
    }

    private func checkpoint(
        keeping retention: AuditRetention?, after generation: Int64
    ) async throws -> (text: String, hasRemoved: Bool) {
        while true {
            let stored = try await store.newestCheckpoint()
            // If it cannot be trusted, nothing vouches for what was removed: a verification finds it missing.
            let known = stored.flatMap { try? trusted($0, generation) }
            var starts = known?.startsByName ?? [:]
            let heads = try await store.auditHeads()
            if let retention { try await move(&starts, to: heads, by: retention) }
            if let stored, let known, known.tells(heads, starts) { return (stored.text, false) }
            let made = AuditCheckpoint(
                number: (stored?.number ?? 0) + 1, time: clock().milliseconds, gateway: settings.name,
                heads: heads, starts: starts)
            let text = try made.signed(by: signer)
            let kept = StoredCheckpoint(number: made.number, text: text)
            guard try await store.keep(kept, startingAfter: starts.mapValues(\.number)) else { continue }
            return (text, starts != known?.startsByName ?? [:])
        }
    }

    /// - Throws: `unauthorized` if it is not signed by a gateway under these authorities, or by a revoked signer.
    private func trusted(
        _ stored: StoredCheckpoint, _ generation: Int64? = nil
    ) throws(GatewayError) -> AuditCheckpoint {
        let checkpoint = try AuditCheckpoint(
            verifying: stored.text, authorities: authorities.all,
            generation: generation ?? authorities.record.signers)
        guard checkpoint.number == stored.number else {
            throw GatewayError(.unauthorized, "The newest checkpoint of the audit trail stands in another one's place.")
        }
        return checkpoint
    }

    /// The entries before the first that are kept.
    func startsOfChains() async throws -> [AuditChainName: AuditHead] {
        guard let stored = try await store.newestCheckpoint(), let known = try? trusted(stored) else { return [:] }
        return known.startsByName
    }

    private func move(
        _ starts: inout [AuditChainName: AuditHead], to heads: [AuditChainName: AuditHead],
        by retention: AuditRetention
    ) async throws {
        for (chain, head) in heads {
            let start = starts[chain] ?? .empty
            let (most, age) =
                chain == .administration ? (retention.administration, nil) : (retention.access, retention.accessAge)
            let oldest = age.map { clock().milliseconds - $0 } ?? .min
            var last: AuditEntry?
            // Most often there is nothing to remove, which the first row tells.
            for limit in [1, 10 * Self.page] {
                let rows = try await store.auditRows(
                    of: chain, after: start.number, through: head.number, limit: limit)
                // What cannot be read stays: it is to be found.
                last =
                    rows.prefix { $0.entry != nil }.compactMap(\.entry).prefix {
                        $0.number <= head.number - most || $0.time < oldest
                    }.last
                guard last != nil else { break }
            }
            if let last { starts[chain] = AuditHead(number: last.number, hash: last.hash) }
        }
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
            stored = try? trusted(newest)
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
