/// A network's proxy on a direct route. It is not the relay: relayed connections use no proxy.
public struct Proxy: Sendable, Hashable, CustomStringConvertible {
    /// The protocols that a proxy speaks; the raw value is the scheme of its URL.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// HTTP, unencrypted to the proxy: the whole URL for `http` (RFC 9112 §3.2.2), CONNECT for `https` (RFC 9110
        /// §9.3.6).
        case http
        /// The same, over TLS with the proxy.
        case https
        /// SOCKS 5 (RFC 1928), unencrypted to the proxy, which looks up names itself.
        case socks5
    }

    /// The authorities that may issue the certificate of a proxy with TLS. Certificates are DER.
    package enum Anchors: Sendable, Hashable {
        case system
        case only([[UInt8]])
        case systemAnd([[UInt8]])
    }

    /// What it speaks.
    public let kind: Kind
    /// Where it listens.
    public let endpoint: Endpoint
    /// The credential for the proxy: with HTTP, sent as its challenge demands; with SOCKS, sent at once (RFC 1929).
    public var credential: Credential?
    package var anchors: Anchors = .system

    /// - Parameters:
    ///   - kind: what it speaks.
    ///   - endpoint: where it listens.
    ///   - credential: for the proxy; nil for none.
    public init(_ kind: Kind, at endpoint: Endpoint, credential: Credential? = nil) {
        self.kind = kind
        self.endpoint = endpoint
        self.credential = credential
    }

    /// Reads `http://HOST:PORT`, `https://HOST:PORT` or `socks5://HOST:PORT`.
    ///
    /// - Throws: ``AddressError``, also if the text contains a user or a password: use ``credential`` for these.
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

    /// Kind and address, as used in hop facts and protection spaces. Never the credential.
    public var description: String { "\(kind.rawValue)://\(endpoint)" }
}

/// The proxies that a session uses on direct routes, and the hosts for which it uses none. `http_proxy` and similar
/// variables have no effect.
public struct ProxySettings: Sendable, Hashable {
    /// For `http` URLs.
    public var http: Proxy?
    /// For `https` URLs.
    public var https: Proxy?
    /// Hosts that are reached without a proxy.
    public var exceptions: [ProxyException]

    /// No proxy: direct routes lead straight to the server.
    public static let none = ProxySettings()

    /// - Parameters:
    ///   - http: for `http` URLs, and streams without TLS; nil for none.
    ///   - https: for `https` URLs, and streams with TLS; nil for none.
    ///   - exceptions: hosts that are reached without a proxy.
    public init(http: Proxy? = nil, https: Proxy? = nil, exceptions: [ProxyException] = []) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// One proxy for all URLs.
    ///
    /// - Parameters:
    ///   - proxy: used for every direct connection to another host than the exceptions.
    ///   - hosts: exceptions, as ``ProxyException/init(_:)`` reads them.
    public static func all(_ proxy: Proxy, except hosts: [String] = []) throws(AddressError) -> ProxySettings {
        var exceptions: [ProxyException] = []
        for host in hosts { exceptions.append(try ProxyException(host)) }
        return ProxySettings(http: proxy, https: proxy, exceptions: exceptions)
    }

    /// The proxy for a URL; nil if none is used.
    public func proxy(for url: RequestURL) -> Proxy? {
        url.endpoint.flatMap { proxy(for: $0.host, isSecure: url.isSecure) }
    }

    /// The proxy for a byte stream to a host: that of `https` if TLS is used with the host, otherwise that of `http`.
    package func proxy(for host: Host, isSecure: Bool) -> Proxy? {
        guard let proxy = isSecure ? https : http else { return nil }
        return exceptions.contains { $0.covers(host) } ? nil : proxy
    }
}
