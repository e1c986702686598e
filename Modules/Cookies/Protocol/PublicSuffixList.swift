internal import CPSL
public import SallyportCore

/// The domains below which anyone can register (https://publicsuffix.org): the system's list, or libpsl's built-in list
/// if it is newer.
@safe
final class PublicSuffixList: @unchecked Sendable {
    // SAFETY: libpsl only reads the context after it was loaded.
    private let context: OpaquePointer?

    static let system = PublicSuffixList()

    /// Without any list, only names of one label are public suffixes.
    private init() { unsafe context = psl_latest(nil) }

    /// - Parameter domain: A-labels in lower case, as ``Host`` has them. A top-level domain that is not listed is
    ///   public.
    func isPublic(_ domain: String) -> Bool {
        guard let context = unsafe context else { return !domain.utf8.contains(UInt8(ascii: ".")) }
        return unsafe psl_is_public_suffix(context, domain) == 1
    }

    /// The registered domain that equals or contains the host; nil if the host itself is a public suffix.
    func registrableDomain(of domain: String) -> String? {
        guard let context = unsafe context else { return nil }
        return unsafe domain.withCString { text in
            guard let found = unsafe psl_registrable_domain(context, text) else { return nil }
            return unsafe String(cString: found)
        }
    }
}

/// Scheme and registrable domain: what `SameSite` compares (RFC 6265bis §5.2). An address is a site of its own.
struct Site: Hashable {
    let scheme: String
    let domain: String

    /// Nil for a URL without a host.
    init?(_ url: RequestURL, _ suffixes: PublicSuffixList = .system) {
        guard let host = url.endpoint?.host else { return nil }
        scheme = url.scheme
        domain = Self.domain(of: host, suffixes)
    }

    fileprivate static func domain(of host: Host, _ suffixes: PublicSuffixList) -> String {
        switch host {
        case .address: host.bareText
        case .name(let name): suffixes.registrableDomain(of: name) ?? name
        }
    }

    /// Two URLs of the same origin are of the same site; the list is not needed.
    static func isSame(_ left: RequestURL, _ right: RequestURL) -> Bool {
        if left.scheme == right.scheme, left.endpoint == right.endpoint { return true }
        guard let left = Site(left), let right = Site(right) else { return false }
        return left == right
    }
}

/// Sites by the system's list of public suffixes, for modules that do not import this one.
public struct PublicSuffixSites: SiteRules {
    /// Uses the list of this machine, which is read once. Without a list, only names of one label are public suffixes.
    public init() {}

    /// Whether both have the same registrable domain, or are equal. An address is a site of its own.
    public func isSameSite(_ one: Host, _ other: Host) -> Bool {
        one == other || Site.domain(of: one, .system) == Site.domain(of: other, .system)
    }
}
