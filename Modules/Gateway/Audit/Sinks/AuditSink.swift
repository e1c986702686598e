internal import Glibc

/// Takes entries of the audit trail as they happen: a copy for a log of the enterprise. The trail itself lies in the store.
///
/// A value, of which an ``AuditOutlet`` owns the one that counts.
protocol AuditSink: Sendable {
    /// May block its thread.
    ///
    /// - Throws: `fileSystem` if the entry could not be written; it is not given again.
    mutating func write(_ entry: AuditEntry) throws(GatewayError)
}

/// The descriptor of a sink; closed when the last copy of the sink has another one, or is gone.
final class SinkDescriptor: Sendable {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { close(number) }
}
