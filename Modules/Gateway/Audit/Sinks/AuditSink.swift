/// Takes entries of the audit trail as they happen: a copy for a log of the enterprise. The trail itself lies in the store.
///
/// Called on one thread at a time, which it may block.
protocol AuditSink: AnyObject, Sendable {
    /// What it is called in the log of the gateway.
    var name: String { get }

    /// - Throws: `fileSystem` if the entry could not be written; it is not given again.
    func write(_ entry: AuditEntry) throws(GatewayError)
}
