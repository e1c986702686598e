internal import Logging
internal import NIOPosix

/// Hands entries to one sink, on a thread that it may block. A sink has a queue and a task of its own: one that blocks
/// takes neither time nor room from another.
///
/// An actor for the sink, whose descriptor is replaced: it goes to that thread with an entry, and comes back.
actor AuditOutlet {
    /// The most entries that wait for the sink; it is not told further ones.
    private static let limit = 16_384

    private var sink: any AuditSink
    private var isFailing = false
    private let entries: AsyncStream<AuditEntry>
    private let continuation: AsyncStream<AuditEntry>.Continuation
    private let logger: Logger

    init(_ sink: any AuditSink, logger: Logger) {
        (self.sink, self.logger) = (sink, logger)
        (entries, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.limit))
    }

    nonisolated func tell(_ entries: [AuditEntry]) {
        for entry in entries { continuation.yield(entry) }
    }

    /// No entry comes after this: ``run()`` ends when the sink was given those that wait.
    nonisolated func finish() { continuation.finish() }

    func run() async {
        for await entry in entries { note(await write(entry)) }
    }

    private func note(_ failure: GatewayError?) {
        defer { isFailing = failure != nil }
        guard let failure, !isFailing else { return }
        logger.error(
            "Entries of the audit trail are not written to a log.", metadata: ["error": "\(failure.message)"])
    }

    /// - Returns: why the entry was not written.
    private func write(_ entry: AuditEntry) async -> GatewayError? {
        let sink = sink
        do {
            let (used, failure) = try await NIOThreadPool.singleton.runIfActive { Self.written(entry, to: sink) }
            self.sink = used
            return failure
        } catch {
            return GatewayError(error)
        }
    }

    private static func written(_ entry: AuditEntry, to sink: any AuditSink) -> (any AuditSink, GatewayError?) {
        var sink = sink
        do throws(GatewayError) {
            try sink.write(entry)
            return (sink, nil)
        } catch {
            return (sink, error)
        }
    }
}
