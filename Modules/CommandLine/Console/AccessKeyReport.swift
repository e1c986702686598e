import FoundationEssentials
import SallyportGateway

/// What `admin key list` prints of a key. The gateway itself stores only the key's digest.
struct AccessKeyReport: Encodable {
    let id: String
    let user: String
    let entitlement: String
    /// RFC 3339.
    let issued: String
    let expires: String
    /// `unused`, `used` or `expired`.
    let state: String
    /// The instance that a used key activated.
    let instance: String?

    init(_ entry: AdministrationReply.AccessKeyEntry) {
        id = entry.id
        user = entry.user
        entitlement = entry.entitlement
        issued = entry.issued.formatted(.iso8601)
        expires = entry.expires.formatted(.iso8601)
        state = entry.state
        instance = entry.instance
    }

    static func table(of entries: [AdministrationReply.AccessKeyEntry]) -> String {
        guard !entries.isEmpty else { return "no access key is remembered" }
        var table = Table(["KEY", "USER", "ENTITLEMENT", "ISSUED", "EXPIRES", "STATE"])
        for report in entries.map(Self.init) {
            table.append([
                report.id, report.user, report.entitlement, report.issued, report.expires, report.state,
            ])
        }
        return table.text
    }
}
