internal import Logging

/// The sinks of the audit trail. Nothing waits for a sink: neither the store nor a command, nor another sink.
struct AuditOutlets: Sendable {
    private let outlets: [AuditOutlet]

    init(_ sinks: [any AuditSink], logger: Logger) { outlets = sinks.map { AuditOutlet($0, logger: logger) } }

    /// The sinks of a configuration.
    ///
    /// - Throws: `fileSystem` if a sink cannot be opened.
    init(_ configuration: Gateway.Configuration, host: String, logger: Logger) throws(GatewayError) {
        var sinks: [any AuditSink] = []
        if let path = configuration.auditLog { sinks.append(try AuditLogFile(path)) }
        if let path = configuration.auditSyslog { sinks.append(try SyslogSocket(path, host: host)) }
        self.init(sinks, logger: logger)
    }

    func tell(_ entries: [AuditEntry]) {
        for outlet in outlets { outlet.tell(entries) }
    }

    /// No entry comes after this: ``run()`` ends when the sinks were given those that wait.
    func finish() {
        for outlet in outlets { outlet.finish() }
    }

    func run() async {
        await withDiscardingTaskGroup { group in
            for outlet in outlets { group.addTask { await outlet.run() } }
        }
    }
}
