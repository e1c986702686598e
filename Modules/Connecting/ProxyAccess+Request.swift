internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

extension ProxyAccess {
    /// How the proxy learns the user: an HTTP proxy from `Proxy-Authorization`, which the server does not get; a SOCKS
    /// proxy when the connection is made.
    ///
    /// - Parameter fields: the header fields with which the request is sent.
    init(_ proxy: Proxy, for request: LoadRequest, with fields: HTTPFields) {
        switch proxy.kind {
        case .http, .https:
            let field = fields[.proxyAuthorization]
            if let field, let user = Self.user(ofDigest: field) {
                self.init(proxy, user: user)
            } else {
                self.init(proxy, authorization: field.map { Redacted($0) })
            }
        case .socks5:
            self.init(proxy, credential: request.options.proxyCredential ?? proxy.credential)
        }
    }

    /// Each request has another digest (RFC 7616). The part before its nonce identifies the user, so that requests of
    /// one user can share connections.
    private static func user(ofDigest field: String) -> Redacted<String>? {
        guard field.hasPrefix("Digest "), let nonce = field.firstRange(of: ", nonce=") else { return nil }
        return Redacted(String(field[..<nonce.lowerBound]))
    }

    /// Sends no password by Basic, because the administrator forbids it or because the connection to the proxy is not
    /// encrypted. SOCKS authenticates by its own protocol.
    init(withoutBasicTo proxy: Proxy) {
        self.init(proxy, credential: proxy.kind == .socks5 ? proxy.credential : nil)
    }

    /// For connections without a stage that answers challenges: the proxy gets its credential with the first request.
    init(withCredentialOf proxy: Proxy) throws(LoadError) {
        switch proxy.kind {
        case .http, .https: self.init(proxy, authorization: try proxy.credential?.basicAuthorization())
        case .socks5: self.init(proxy, credential: proxy.credential)
        }
    }
}
