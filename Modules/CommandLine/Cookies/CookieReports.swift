import FoundationEssentials
import SallyportBase
import SallyportCookies

/// What `cookies list` prints of each.
struct CookieReport: Encodable, Sendable {
    let name: String
    /// With `--show-values` only.
    let value: String?
    let domain: String
    let includesSubdomains: Bool
    let path: String
    let expires: Date?
    let secure: Bool
    let httpOnly: Bool
    let sameSite: SameSite
    let created: Date
    let lastAccess: Date

    init(_ cookie: Cookie, showsValue: Bool) {
        name = cookie.name
        value = showsValue ? cookie.value.reveal() : nil
        domain = cookie.domain
        includesSubdomains = cookie.includesSubdomains
        path = cookie.path
        expires = cookie.expires
        secure = cookie.isSecure
        httpOnly = cookie.isHTTPOnly
        sameSite = cookie.sameSite
        created = cookie.created
        lastAccess = cookie.lastAccess
    }

    static func text(_ reports: [CookieReport], showValues: Bool) -> String {
        var table = Table(["name", "domain", "path", "expires", "attributes"] + (showValues ? ["value"] : []))
        for report in reports {
            let attributes =
                (report.secure ? ["Secure"] : []) + (report.httpOnly ? ["HttpOnly"] : [])
                + (report.sameSite == .default ? [] : ["SameSite=\(report.sameSite.rawValue)"])
            table.append(
                [
                    report.name, (report.includesSubdomains ? "." : "") + report.domain, report.path,
                    report.expires.map { $0.formatted(.iso8601) } ?? "session", attributes.joined(separator: " "),
                ] + (showValues ? [report.value ?? ""] : []))
        }
        return table.text
    }
}

/// What `cookies remove` prints.
struct RemovalReport: Encodable, Sendable {
    let removed: Int
}

/// What `cookies import` prints.
struct ImportReport: Encodable, Sendable {
    /// How many the jar has now.
    let persistent: Int
}

/// What `cookies export --output` prints.
struct ExportReport: Encodable, Sendable {
    let file: String
    /// How many the file has.
    let cookies: Int
    /// How many the format cannot hold.
    let leftOut: Int
}
