/// A proxy of the network's own on a direct route. Not the relay: what an administrator relays goes through no proxy.
public struct Proxy: Sendable, Hashable, CustomStringConvertible {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// HTTP, in the clear to the proxy: the whole URL for `http` (RFC 9112 §3.2.2), CONNECT for `https`
        /// (RFC 9110 §9.3.6).
        case http
        /// The same, over TLS with the proxy.
        case https
        /// SOCKS 5 (RFC 1928), in the clear to the proxy, which looks names up by itself.
        case socks5
    }

    /// Who may have issued the certificate of a proxy that is spoken to over TLS. Certificates are DER.
    package enum Anchors: Sendable, Hashable {
        case system
        case only([[UInt8]])
        case systemAnd([[UInt8]])
    }

    public let kind: Kind
    public let endpoint: Endpoint
    /// What the proxy is told when it asks: with HTTP as a challenge's scheme says, with SOCKS at once, by RFC 1929.
    public var credential: Credential?
    package var anchors: Anchors = .system

    public init(_ kind: Kind, at endpoint: Endpoint, credential: Credential? = nil) {
        self.kind = kind
        self.endpoint = endpoint
        self.credential = credential
    }

    /// Reads `http://HOST:PORT`, `https://HOST:PORT` or `socks5://HOST:PORT`.
    ///
    /// - Throws: ``AddressError``, also where a user or a password stands in the text: ``credential`` is for these.
    public init(_ text: String, credential: Credential? = nil) throws(AddressError) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")), text.utf8[colon...].starts(with: "://".utf8),
            let kind = Kind(rawValue: text[..<colon].lowercased())
        else { throw AddressError(.invalidURL, "A proxy is http://, https:// or socks5://, then HOST:PORT.") }
        var authority = text[text.utf8.index(colon, offsetBy: 3)...]
        if authority.last == "/" { authority.removeLast() }
        guard !authority.utf8.contains(UInt8(ascii: "@")) else {
            throw AddressError(.credentialsInURL, "A proxy's credential is given beside its address.")
        }
        try self.init(kind, at: Endpoint(String(authority)), credential: credential)
    }

    /// Whether the connection to the proxy itself is encrypted.
    package var isEncrypted: Bool { kind == .https }

    /// Kind and place: what hop facts and protection spaces say. Never the credential.
    public var description: String { "\(kind.rawValue)://\(endpoint)" }
}

/// Which proxies a session uses on direct routes, and for which hosts it uses none. `http_proxy` and its kin have no
/// effect.
public struct ProxySettings: Sendable, Hashable {
    /// For `http` URLs.
    public var http: Proxy?
    /// For `https` URLs.
    public var https: Proxy?
    /// Hosts that are reached without one.
    public var exceptions: [ProxyException]

    public static let none = ProxySettings()

    public init(http: Proxy? = nil, https: Proxy? = nil, exceptions: [ProxyException] = []) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// One proxy for all.
    ///
    /// - Parameter hosts: what ``ProxyException/init(_:)`` reads.
    public static func all(_ proxy: Proxy, except hosts: [String] = []) throws(AddressError) -> ProxySettings {
        var exceptions: [ProxyException] = []
        for host in hosts { exceptions.append(try ProxyException(host)) }
        return ProxySettings(http: proxy, https: proxy, exceptions: exceptions)
    }

    /// The proxy for a URL; nil where it is reached without one.
    public func proxy(for url: RequestURL) -> Proxy? {
        url.endpoint.flatMap { proxy(for: $0.host, isSecure: url.isSecure) }
    }

    /// The proxy for a stream of bytes to a host: the one of `https` where TLS is spoken with it, else that of `http`.
    package func proxy(for host: Host, isSecure: Bool) -> Proxy? {
        guard let proxy = isSecure ? https : http else { return nil }
        return exceptions.contains { $0.covers(host) } ? nil : proxy
    }
}
