internal import Logging
internal import NIOPosix
internal import SallyportBase

/// Hands entries to the sinks, on a thread that they may block. Nothing waits for a sink: neither the store nor a command.
///
/// An actor for the sinks, whose descriptors are replaced: each goes to that thread with an entry, and comes back.
actor AuditOutlets {
    /// The most entries that wait for the sinks; further ones are not told to them.
    private static let limit = 16_384

    private var sinks: [any AuditSink]
    private let isUsed: Bool
    private let entries: AsyncStream<AuditEntry>
    private let continuation: AsyncStream<AuditEntry>.Continuation
    private let logger: Logger

    init(_ sinks: [any AuditSink], logger: Logger) {
        (self.sinks, self.logger) = (sinks, logger)
        isUsed = !sinks.isEmpty
        (entries, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.limit))
    }

    /// The sinks of a configuration.
    ///
    /// - Throws: `fileSystem` if a sink cannot be opened.
    init(_ configuration: Gateway.Configuration, host: String, logger: Logger) throws(GatewayError) {
        var sinks: [any AuditSink] = []
        if let path = configuration.auditLog { sinks.append(try AuditLogFile(path)) }
        if let path = configuration.auditSyslog { sinks.append(try SyslogSocket(path, host: host)) }
        self.init(sinks, logger: logger)
    }

    nonisolated func tell(_ entries: [AuditEntry]) {
        guard isUsed else { return }
        for entry in entries { continuation.yield(entry) }
    }

    /// No entry comes after this: ``run()`` ends when it has told those that wait.
    nonisolated func finish() { continuation.finish() }

    func run() async {
        var failing: Set<String> = []
        for await entry in entries {
            for index in sinks.indices {
                let name = sinks[index].name
                guard let failure = await write(entry, to: index) else {
                    failing.remove(name)
                    continue
                }
                guard failing.insert(name).inserted else { continue }
                logger.error(
                    "Entries of the audit trail are not written to a log.", metadata: ["error": "\(failure.message)"])
            }
        }
    }

    /// - Returns: why the entry was not written.
    private func write(_ entry: AuditEntry, to index: Int) async -> GatewayError? {
        let sink = sinks[index]
        do {
            let (used, failure) = try await NIOThreadPool.singleton.runIfActive { Self.written(entry, to: sink) }
            sinks[index] = used
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
