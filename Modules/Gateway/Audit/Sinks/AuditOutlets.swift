internal import Logging
internal import NIOPosix
internal import SallyportBase

/// Hands entries to the sinks, on a thread that they may block. Nothing waits for a sink: neither the store nor a command.
struct AuditOutlets: Sendable {
    /// The most entries that wait for the sinks; further ones are not told to them.
    private static let limit = 16_384

    private let sinks: [any AuditSink]
    private let entries: AsyncStream<AuditEntry>
    private let continuation: AsyncStream<AuditEntry>.Continuation
    private let logger: Logger

    init(_ sinks: [any AuditSink], logger: Logger) {
        (self.sinks, self.logger) = (sinks, logger)
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

    var isUsed: Bool { !sinks.isEmpty }

    func tell(_ entries: [AuditEntry]) {
        guard isUsed else { return }
        for entry in entries { continuation.yield(entry) }
    }

    /// No entry comes after this: ``run()`` ends when it has told those that wait.
    func finish() { continuation.finish() }

    func run() async {
        var failing: Set<String> = []
        for await entry in entries {
            for sink in sinks {
                do {
                    try await NIOThreadPool.singleton.runIfActive { try sink.write(entry) }
                    failing.remove(sink.name)
                } catch {
                    guard failing.insert(sink.name).inserted else { continue }
                    logger.error(
                        "Entries of the audit trail are not written to a log.",
                        metadata: ["error": "\(GatewayError(error).message)"])
                }
            }
        }
    }
}
