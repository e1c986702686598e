/// Where the audit trail lies: beside what it tells of, in the same transactions.
protocol AuditStore: Sendable {
    /// Adds an entry about something that changes nothing in the store.
    func append(_ event: AuditEvent) async throws

    /// Adds entries to a gateway's own chain, in one transaction.
    ///
    /// - Parameter head: the chain's end before the entries.
    /// - Returns: false if the chain ends elsewhere; then nothing was written. True if it ends with these entries already,
    ///   since an earlier call was not answered.
    func append(_ entries: [AuditEntry], of chain: AuditChainName, after head: AuditHead) async throws -> Bool

    /// The ends of all chains.
    func auditHeads() async throws -> [AuditChainName: AuditHead]

    /// The rows of a chain beyond a number, in the order of their places, at most so many.
    ///
    /// - Parameter last: the last that may be given; a row beyond it is not looked for.
    func auditRows(
        of chain: AuditChainName, after number: Int64, through last: Int64, limit: Int
    ) async throws -> [AuditRow]

    func newestCheckpoint() async throws -> StoredCheckpoint?

    /// Keeps the next checkpoint, and removes the entries before the starts that it has signed, in one transaction.
    ///
    /// - Returns: false if there is a checkpoint of this number already.
    func keep(_ checkpoint: StoredCheckpoint, startingAfter starts: [AuditChainName: Int64]) async throws -> Bool

    /// The entries that this gateway adds in the transactions of the changes which they tell, as it adds them. Only one
    /// task may follow them.
    func audited() async -> AsyncStream<AuditEntry>
}
