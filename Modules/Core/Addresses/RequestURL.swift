/// A URL that can be requested (RFC 3986), kept as its parts.
///
/// A type of its own, because the host must become an ``Endpoint`` by one rule everywhere, and because each request
/// parses its URL. Any scheme is accepted, since plugins serve schemes other than `http` and `https`; for these two the
/// host is converted to an ``Endpoint`` at once, and a URL without a host is refused.
public struct RequestURL: Sendable, Hashable, CustomStringConvertible {
    /// The longest accepted URL, in UTF-8 bytes.
    public static let maximumLength = 65_536

    private let parts: Parts

    /// In lower case.
    public var scheme: String { parts.scheme }
    /// The server of an `http` or `https` URL; nil for other schemes.
    public var endpoint: Endpoint? { parts.endpoint }
    package var hasEndpoint: Bool { parts.endpoint != nil }
    /// The text between `//` and the path, for schemes that have no endpoint; nil if there is none.
    public var authority: String? { parts.authority }
    /// Percent-encoded; never empty for `http` and `https`.
    public var path: String { parts.path }
    /// Percent-encoded, without the question mark.
    public var query: String? { parts.query }
    /// Percent-encoded, without the number sign. Never sent.
    public var fragment: String? { parts.fragment }

    /// A URL is passed from stage to stage in the request, the answer and the facts of each hop: as one reference.
    private final class Parts: Sendable, Hashable {
        let scheme: String
        let endpoint: Endpoint?
        let authority: String?
        let path: String
        let query: String?
        let fragment: String?

        init(scheme: String, endpoint: Endpoint?, authority: String?, path: String, query: String?, fragment: String?) {
            (self.scheme, self.endpoint, self.authority) = (scheme, endpoint, authority)
            (self.path, self.query, self.fragment) = (path, query, fragment)
        }

        static func == (one: Parts, other: Parts) -> Bool {
            if one === other { return true }
            return one.path == other.path && one.query == other.query && one.endpoint == other.endpoint
                && one.scheme == other.scheme && one.authority == other.authority && one.fragment == other.fragment
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(scheme)
            hasher.combine(endpoint)
            hasher.combine(authority)
            hasher.combine(path)
            hasher.combine(query)
            hasher.combine(fragment)
        }
    }

    /// Reads an absolute URL (RFC 3986 §4.3), of any scheme.
    ///
    /// White space and control characters around it are removed. The scheme becomes lower case. Characters that the
    /// path, the query or the fragment cannot contain, a backslash among them, are percent-encoded. For `http` and
    /// `https`, the host becomes an ``Endpoint`` with the scheme's default port if none is given, an empty path becomes
    /// `/`, and the segments `.` and `..` are removed (§5.2.4).
    ///
    /// - Parameter text: at most ``maximumLength`` bytes of UTF-8.
    /// - Throws: ``AddressError``: `invalidURL` if the text is empty or too long, has no scheme, or holds white space
    ///   or a control character within; and for `http` and `https`, `noHost`, `invalidHost`, `invalidPort`, and
    ///   `credentialsInURL` if the URL contains a user or a password.
    public init(_ text: String) throws(AddressError) {
        let parts = try URLParts(text)
        guard let scheme = parts.scheme else { throw AddressError(.invalidURL, "The URL has no scheme.") }
        try self.init(scheme: scheme.lowercased(), parts: parts)
    }

    private init(scheme: String, parts: URLParts) throws(AddressError) {
        guard let defaultPort = Self.defaultPort(of: scheme) else {
            self.parts = Parts(
                scheme: scheme, endpoint: nil, authority: parts.authority, path: parts.path, query: parts.query,
                fragment: parts.fragment)
            return
        }
        guard let text = parts.authority, !text.isEmpty else {
            throw AddressError(.noHost, "An \(scheme) URL names a host.")
        }
        guard !text.utf8.contains(UInt8(ascii: "@")) else {
            throw AddressError(.credentialsInURL, "Credentials are given with the request, not in its URL.")
        }
        let split = Authority.split(text)
        guard !split.host.isEmpty else { throw AddressError(.noHost, "An \(scheme) URL names a host.") }
        let port = split.port.flatMap { $0.isEmpty ? nil : $0 }
        self.parts = Parts(
            scheme: scheme,
            endpoint: try Endpoint(
                host: Authority.host(split.host), port: port.map(Authority.port) ?? defaultPort),
            authority: nil, path: parts.path.isEmpty ? "/" : URLParts.withoutDots(parts.path), query: parts.query,
            fragment: parts.fragment)
    }

    /// The same URL with another server, for a scheme that has one.
    package func leading(to endpoint: Endpoint) -> RequestURL {
        RequestURL(
            Parts(
                scheme: scheme, endpoint: endpoint, authority: nil, path: path, query: query, fragment: fragment))
    }

    private init(_ parts: Parts) { self.parts = parts }

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

    /// Scheme, host and port, to which credentials, cookies and redirects are bound (RFC 6454).
    public var origin: String { "\(scheme)://\(endpoint?.description ?? authority ?? "")" }

    /// The whole URL, without its fragment, as it is sent to a server.
    public var absoluteText: String {
        guard let endpoint else { return "\(scheme):\(authority.map { "//\($0)" } ?? "")\(target)" }
        // Each request needs it once: created in one allocation.
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

    /// The whole URL, including query and fragment. For people who ask for it; errors and logs use ``redacted``.
    public var description: String { fragment.map { "\(absoluteText)#\($0)" } ?? absoluteText }

    /// The URL without the parts that may be secret: query and fragment.
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
