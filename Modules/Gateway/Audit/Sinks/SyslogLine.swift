/// An entry as a message of syslog (RFC 5424): facility `log audit` (13); severity `warning` for what was refused, lost or
/// withdrawn, else `informational`. The message is the entry in JSON, and its identifier (MSGID) the kind.
package enum SyslogLine {
    private static let facility = 13

    /// - Parameters:
    ///   - host: of the gateway.
    ///   - process: the identifier of the process; nil where there is none.
    package static func text(of entry: AuditEntry, host: String, process: Int32?) -> String {
        let priority = facility * 8 + (isWarning(entry) ? 4 : 6)
        let process = process.map { "\($0)" } ?? "-"
        let kind = header(entry[.kind] ?? "", limit: 32)
        return
            "<\(priority)>1 \(AuditTime.text(entry.time)) \(header(host, limit: 255)) sallyport \(process) \(kind) - "
            + entry.json
    }

    private static func isWarning(_ entry: AuditEntry) -> Bool {
        switch entry[.kind] {
        case AuditKind.refusal.rawValue, AuditKind.lost.rawValue, AuditKind.lock.rawValue: return true
        case AuditKind.connect.rawValue: return !["opened", "allowed"].contains(entry[.outcome])
        case AuditKind.tunnel.rawValue: return entry[.outcome] == "withdrawn"
        default: return !["done", "unchanged"].contains(entry[.outcome])
        }
    }

    /// Printable ASCII without spaces.
    private static func header(_ text: String, limit: Int) -> String {
        let kept = text.utf8.filter { (33...126).contains($0) }.prefix(limit)
        return kept.isEmpty ? "-" : String(decoding: kept, as: UTF8.self)
    }
}
