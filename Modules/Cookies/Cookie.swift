public import FoundationEssentials
public import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// One cookie of a jar (RFC 6265bis §5.7). Descriptions never contain its value.
public struct Cookie: Sendable {
    let entry: CookieEntry

    init(_ entry: CookieEntry) { self.entry = entry }

    /// Invalid UTF-8 is shown as U+FFFD; the bytes are sent as they were received.
    public var name: String { String(decoding: entry.name, as: UTF8.self) }
    /// Invalid UTF-8 is shown as U+FFFD, as in ``name``.
    public var value: Redacted<String> { Redacted(String(decoding: entry.value, as: UTF8.self)) }
    /// A host name in A-labels, or an address.
    public var domain: String { entry.host.bareText }
    /// Whether hosts below the domain receive the cookie too, as a `Domain` attribute says.
    public var includesSubdomains: Bool { !entry.isHostOnly }
    /// Begins with a slash. The cookie is sent for this path and all below it (RFC 6265bis §5.1.4).
    public var path: String { String(decoding: entry.path, as: UTF8.self) }
    /// When the cookie expires; nil for a session cookie, which ends with the process and is never stored.
    public var expires: Date? { entry.isPersistent ? Date(milliseconds: entry.expiry) : nil }
    /// Sent over TLS only.
    public var isSecure: Bool { entry.isSecure }
    /// For information only: it hides cookies from scripts, of which there are none here.
    public var isHTTPOnly: Bool { entry.isHTTPOnly }
    /// Whether it is sent with requests that come from another site.
    public var sameSite: SameSite { entry.sameSite }
    /// When the cookie was created. A cookie that replaces another keeps the earlier time.
    public var created: Date { Date(milliseconds: entry.created) }
    /// When the cookie was last sent; before that, when it was set. Of too many cookies, those that were used longest
    /// ago are evicted.
    public var lastAccess: Date { Date(milliseconds: entry.accessed) }
}

extension Cookie {
    /// Creates a cookie of the app's own, by the rules for servers' cookies.
    ///
    /// - Parameters:
    ///   - name: may be empty if the value is not.
    ///   - value: sent as it is.
    ///   - domain: a host in any spelling.
    ///   - includesSubdomains: whether hosts below the domain receive the cookie too; refused for a public suffix and
    ///     an address.
    ///   - path: the cookie is sent for this path and all below it.
    ///   - expires: at most 400 days from now; a later date is reduced to that. Nil for a cookie that ends with the
    ///     process.
    ///   - isSecure: whether it is sent to `https` URLs only.
    ///   - isHTTPOnly: for information only: it hides cookies from scripts, of which there are none here.
    ///   - sameSite: whether it is sent with requests that come from another site.
    /// - Throws: ``CookieError/Code-swift.struct/invalidCookie`` for a control character, a semicolon in name or value,
    ///   an equals sign in the name, more than 4,096 bytes of name and value, a path that does not begin with a slash or
    ///   has more than 4,096 bytes, and a name whose prefix requires what does not hold.
    public init(
        name: String, value: String, domain: String, includesSubdomains: Bool = false, path: String = "/",
        expires: Date? = nil, isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite = .default
    ) throws(CookieError) {
        try self.init(
            name: Array(name.utf8), value: Array(value.utf8), domain: domain, includesSubdomains: includesSubdomains,
            path: Array(path.utf8), expires: expires, isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite)
    }

    init(
        name: [UInt8], value: [UInt8], domain: String, includesSubdomains: Bool, path: [UInt8], expires: Date?,
        isSecure: Bool, isHTTPOnly: Bool, sameSite: SameSite
    ) throws(CookieError) {
        try Self.check(name, value, path)
        guard sameSite != .none || isSecure else { throw .invalid("SameSite=None is for secure cookies only.") }
        let host = try Self.host(domain, includesSubdomains: includesSubdomains)
        let now = Date().milliseconds
        let expiry = expires.map { min($0.milliseconds, now + CookieRules.longestLife) } ?? CookieEntry.session
        entry = CookieEntry(
            name: name, value: value, host: host, isHostOnly: !includesSubdomains, path: path, expiry: expiry,
            created: now, isSecure: isSecure, isHTTPOnly: isHTTPOnly, sameSite: sameSite)
        guard CookiePrefix.holds(for: entry, namesPath: true) else {
            throw .invalid("The cookie does not meet the requirements of its name's prefix.")
        }
    }

    private static func check(_ name: [UInt8], _ value: [UInt8], _ path: [UInt8]) throws(CookieError) {
        let parts = [name, value, path]
        guard !parts.joined().contains(where: ASCII.isControl),
            ![name, value].joined().contains(UInt8(ascii: ";")), !name.contains(UInt8(ascii: "=")),
            parts.allSatisfy({ ASCII.trimmed($0[...]).count == $0.count })
        else { throw .invalid("A cookie holds no controls, no semicolon, and no space at an end.") }
        guard !name.isEmpty || !value.isEmpty, name.count + value.count <= SetCookie.maximumLength else {
            throw .invalid("Name and value have 1 to \(SetCookie.maximumLength) bytes.")
        }
        // A default path is a part of the server's URL: it may hold a semicolon, and be longer than an attribute.
        guard path.first == UInt8(ascii: "/"), path.count <= SetCookie.maximumLength else {
            throw .invalid("A path begins with a slash and has at most \(SetCookie.maximumLength) bytes.")
        }
    }

    private static func host(_ text: String, includesSubdomains: Bool) throws(CookieError) -> Host {
        let host: Host
        do throws(AddressError) {
            host = try Host(text)
        } catch {
            throw CookieError(.invalidCookie, "The domain is no host.", underlying: error)
        }
        guard includesSubdomains else { return host }
        guard case .name(let name) = host, !PublicSuffixList.system.isPublic(name) else {
            throw .invalid("Nothing below an address or a public suffix shares cookies.")
        }
        return host
    }
}

extension CookieError {
    fileprivate static func invalid(_ message: String) -> CookieError { CookieError(.invalidCookie, message) }
}

/// Equal if requests would be the same: times of creation and use are ignored.
extension Cookie: Hashable {
    public static func == (left: Cookie, right: Cookie) -> Bool {
        left.entry.isSame(as: right.entry) && left.entry.pair == right.entry.pair
            && left.entry.expiry == right.entry.expiry && left.isSecure == right.isSecure
            && left.isHTTPOnly == right.isHTTPOnly && left.sameSite == right.sameSite
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(entry.pair)
        hasher.combine(entry.host)
        hasher.combine(entry.path)
    }
}

extension Cookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Name, domain and path.
    public var description: String { "\(name) (\(includesSubdomains ? "." : "")\(domain)\(path))" }
    public var debugDescription: String { "Cookie(\(description))" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Date {
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }

    var milliseconds: Int64 { Int64((timeIntervalSince1970 * 1000).clamped) }
}

extension Double {
    /// Within the range of a clock; NaN counts as the past.
    fileprivate var clamped: Double { isNaN ? 0 : Swift.min(Swift.max(self, -1e16), 1e16).rounded() }
}
