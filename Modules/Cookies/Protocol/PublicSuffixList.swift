internal import CPSL
public import SallyportCore

/// Which domains the public registers below (https://publicsuffix.org): the system's list, or libpsl's own where that
/// is newer.
@safe
final class PublicSuffixList: @unchecked Sendable {
    // SAFETY: the context is read by libpsl and never written after it was loaded.
    private let context: OpaquePointer?

    static let system = PublicSuffixList()

    /// Where no list can be had, only names of one label count as public.
    private init() { unsafe context = psl_latest(nil) }

    /// - Parameter domain: A-labels in lower case, as ``Host`` has them. A top-level domain that is on no list is public.
    func isPublic(_ domain: String) -> Bool {
        guard let context = unsafe context else { return !domain.utf8.contains(UInt8(ascii: ".")) }
        return unsafe psl_is_public_suffix(context, domain) == 1
    }

    /// The domain that was registered, which the host is or lies below; nil for what is public itself.
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

    /// Two URLs of one origin are of one site without a look at the list.
    static func isSame(_ left: RequestURL, _ right: RequestURL) -> Bool {
        if left.scheme == right.scheme, left.endpoint == right.endpoint { return true }
        guard let left = Site(left), let right = Site(right) else { return false }
        return left == right
    }
}

/// Sites by the system's list of public suffixes, for modules that do not import this one.
public struct PublicSuffixSites: SiteRules {
    public init() {}

    public func isSameSite(_ one: Host, _ other: Host) -> Bool {
        one == other || Site.domain(of: one, .system) == Site.domain(of: other, .system)
    }
}
