import FoundationEssentials
import SallyportGateway

/// What `admin audit` prints for people.
enum AuditTable {
    static func text(of entries: [AuditEntry]) -> String {
        guard !entries.isEmpty else { return "no entry is kept" }
        var table = Table(["TIME", "CHAIN", "NUMBER", "KIND", "WHO", "WHAT", "OUTCOME"])
        for entry in entries {
            // A gateway's identifier is long, and its name is enough for people.
            let chain = entry.chain.hasPrefix("access:") ? "access" : entry.chain
            table.append([
                time(entry.time), chain, "\(entry.number)", entry.fields["kind"] ?? "-", who(entry), what(entry),
                entry.fields["outcome"] ?? "-",
            ])
        }
        return table.text
    }

    static func text(of report: AuditReport) -> String {
        let chains = report.chains.map { chain in
            "\(chain.chain): \(chain.last < chain.first ? "none" : "entries \(chain.first) to \(chain.last)")"
        }
        let checkpoint = report.checkpoint.map { "newest checkpoint of \(time($0))" } ?? "no checkpoint yet"
        let faults = report.faults.isEmpty ? ["the audit trail is sound"] : report.faults.map(\.description)
        return (chains + [checkpoint] + faults).joined(separator: "\n")
    }

    /// What `admin audit verify --json` prints.
    struct Verified: Encodable {
        let sound: Bool
        let chains: [AuditReport.Chain]
        let faults: [AuditReport.Fault]
        /// RFC 3339.
        let checkpoint: String?

        init(_ report: AuditReport) {
            (sound, chains, faults) = (report.isSound, report.chains, report.faults)
            checkpoint = report.checkpoint.map(AuditTable.time)
        }
    }

    private static func time(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds / 1000)).formatted(.iso8601)
    }

    private static func who(_ entry: AuditEntry) -> String {
        let fields = entry.fields
        return fields["account"] ?? fields["uid"].map { "user \($0)" } ?? fields["source"] ?? fields["actor"] ?? "-"
    }

    private static func what(_ entry: AuditEntry) -> String {
        let names = ["action", "user", "entitlement", "version", "instance", "target", "key", "relay", "detail"]
        var parts = names.compactMap { entry.fields[$0] }
        if let sent = entry.fields["sent"], let received = entry.fields["received"] {
            parts.append("sent \(sent), received \(received)")
        }
        if let count = entry.fields["count"] { parts.append("(\(count))") }
        return parts.isEmpty ? "-" : parts.joined(separator: " ")
    }
}

/// An entry as JSON prints it.
struct AuditReportLine: Encodable {
    private let entry: AuditEntry

    init(_ entry: AuditEntry) { self.entry = entry }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(entry.object)
    }
}
