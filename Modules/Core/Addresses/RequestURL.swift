/// A URL that can be requested (RFC 3986), kept as its parts.
///
/// An own value, because the host must become an ``Endpoint`` by one rule everywhere, and because parsing stands on
/// the path of each request. Any scheme is taken, since plugins serve others than `http` and `https`; for these two
/// the host is read into an ``Endpoint`` at once, and a URL without one is refused.
public struct RequestURL: Sendable, Hashable, CustomStringConvertible {
    /// The longest URL that is read, in UTF-8 octets.
    public static let maximumLength = 65_536

    /// In lower case.
    public let scheme: String
    /// Of `http` and `https`: where the request goes. Other schemes have none.
    public let endpoint: Endpoint?
    /// What stands between `//` and the path, as written, for schemes that have no endpoint; nil where there is none.
    public let authority: String?
    /// Percent-encoded; of `http` and `https` never empty.
    public let path: String
    /// Percent-encoded, without the question mark.
    public let query: String?
    /// Percent-encoded, without the number sign. Never sent.
    public let fragment: String?

    public init(_ text: String) throws(AddressError) {
        let parts = try URLParts(text)
        guard let scheme = parts.scheme else { throw AddressError(.invalidURL, "The URL has no scheme.") }
        try self.init(scheme: scheme.lowercased(), parts: parts)
    }

    private init(scheme: String, parts: URLParts) throws(AddressError) {
        self.scheme = scheme
        query = parts.query
        fragment = parts.fragment
        guard let defaultPort = Self.defaultPort(of: scheme) else {
            endpoint = nil
            authority = parts.authority
            path = parts.path
            return
        }
        guard let text = parts.authority, !text.isEmpty else {
            throw AddressError(.noHost, "An \(scheme) URL names a host.")
        }
        guard !text.contains("@") else {
            throw AddressError(.credentialsInURL, "Credentials are given with the request, not in its URL.")
        }
        let split = Authority.split(text)
        guard !split.host.isEmpty else { throw AddressError(.noHost, "An \(scheme) URL names a host.") }
        let port = split.port.flatMap { $0.isEmpty ? nil : $0 }
        endpoint = try Endpoint(host: Host(split.host), port: port.map(Authority.port) ?? defaultPort)
        authority = nil
        path = parts.path.isEmpty ? "/" : URLParts.withoutDots(parts.path)
    }

    /// 80 for `http`, 443 for `https`; nil for the schemes that plugins serve.
    public static func defaultPort(of scheme: String) -> UInt16? {
        switch scheme {
        case "https": 443
        case "http": 80
        default: nil
        }
    }

    /// Whether the connection to the server is encrypted end to end.
    public var isSecure: Bool { scheme == "https" }

    /// The request target in origin form (RFC 9112 §3.2.1): path and query.
    public var target: String { query.map { "\(path)?\($0)" } ?? path }

    /// The value of `Host` and `:authority`: without the scheme's default port.
    public var hostField: String {
        guard let endpoint else { return authority ?? "" }
        return endpoint.port == Self.defaultPort(of: scheme) ? "\(endpoint.host)" : "\(endpoint)"
    }

    /// Scheme, host and port: what credentials, cookies and redirects are bound to (RFC 6454).
    public var origin: String { "\(scheme)://\(endpoint?.description ?? authority ?? "")" }

    /// The whole URL, without its fragment: what goes to a server.
    public var absoluteText: String {
        guard let endpoint else { return "\(scheme):\(authority.map { "//\($0)" } ?? "")\(target)" }
        // Each request needs it once: made in one allocation.
        var text = scheme
        text.reserveCapacity(scheme.utf8.count + 265 + path.utf8.count + (query?.utf8.count ?? 0))
        text += "://"
        text += endpoint.host.description
        if endpoint.port != Self.defaultPort(of: scheme) {
            text += ":"
            text += String(endpoint.port)
        }
        text += path
        if let query {
            text += "?"
            text += query
        }
        return text
    }

    /// The whole URL, query and fragment with it. For people who ask for it; errors and logs use ``redacted``.
    public var description: String { fragment.map { "\(absoluteText)#\($0)" } ?? absoluteText }

    /// The URL without what may be secret: query and fragment.
    public var redacted: String {
        endpoint != nil ? "\(scheme)://\(hostField)\(path)" : "\(scheme):"
    }

    /// Resolves a reference against this URL (RFC 3986 §5.2), as `Location` needs it; a fragment is inherited
    /// (RFC 9110 §10.2.2).
    public func resolving(_ reference: String) throws(AddressError) -> RequestURL {
        var parts = try URLParts(reference)
        if parts.fragment == nil { parts.fragment = fragment }
        if let scheme = parts.scheme { return try RequestURL(scheme: scheme.lowercased(), parts: parts) }
        if parts.authority == nil {
            parts.authority = endpoint.map { "\($0)" } ?? authority
            if parts.path.isEmpty {
                parts.path = path
                parts.query = parts.query ?? query
            } else if !parts.path.hasPrefix("/") {
                parts.path =
                    String(path[..<(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)]) + parts.path
            }
        }
        parts.path = URLParts.withoutDots(parts.path)
        return try RequestURL(scheme: scheme, parts: parts)
    }
}
