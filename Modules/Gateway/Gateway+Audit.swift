/// The audit trail: who has administered the gateway, what instances did there, and what was refused.
///
/// Each call is an entry of the trail itself. All throw ``GatewayError``, as the rest of the administration does.
extension Gateway {
    /// Entries of all chains, by time.
    ///
    /// - Parameters:
    ///   - number: only entries with a greater number, the lowest first; if nil, the newest ones.
    ///   - limit: 1 to 10,000.
    public func auditEntries(after number: Int64? = nil, limit: Int = 100) async throws(GatewayError) -> [AuditEntry] {
        guard case .entries(let entries) = try await audit(.list(.init(after: number, limit: limit))) else {
            throw Self.unexpected
        }
        return entries
    }

    /// Looks at every entry, and finds what was changed, moved or removed.
    ///
    /// - Parameter checkpoint: from ``auditCheckpoint()``, kept elsewhere meanwhile: only with one is an end that was
    ///   cut off found for sure.
    /// - Throws: `unauthorized` if the checkpoint is not signed by a gateway under this gateway's authority, `invalid` if
    ///   it is none.
    public func verifyAudit(against checkpoint: String? = nil) async throws(GatewayError) -> AuditReport {
        guard case .report(let report) = try await audit(.verify(checkpoint: checkpoint)) else { throw Self.unexpected }
        return report
    }

    /// Where all chains end now, signed by this gateway. Contains no secret; keep it apart from the gateway.
    public func auditCheckpoint() async throws(GatewayError) -> String {
        guard case .checkpoint(let text) = try await audit(.checkpoint) else { throw Self.unexpected }
        return text
    }

    private func audit(_ request: AuditRequest) async throws(GatewayError) -> AuditAnswer {
        guard case .audit(let answer) = try await perform(.audit(request)) else { throw Self.unexpected }
        return answer
    }

    private static var unexpected: GatewayError {
        GatewayError(.internalFailure, "The question was answered by something else.")
    }
}
