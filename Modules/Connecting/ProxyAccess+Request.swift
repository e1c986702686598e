internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

extension ProxyAccess {
    /// How the proxy learns the user: an HTTP proxy from `Proxy-Authorization`, which the server does not get; a SOCKS
    /// proxy when the connection is made.
    ///
    /// - Parameters:
    ///   - fields: the header fields with which the request is sent.
    ///   - user: whose proof is in them, if each request has another one: requests of one user share connections.
    init(_ proxy: Proxy, for request: LoadRequest, with fields: HTTPFields, of user: Redacted<[UInt8]>?) {
        switch proxy.kind {
        case .http, .https:
            let field = fields[.proxyAuthorization]
            if field != nil, let user {
                self.init(proxy, user: user)
            } else {
                self.init(proxy, authorization: field.map { Redacted($0) })
            }
        case .socks5:
            self.init(proxy, credential: request.options.proxyCredential ?? proxy.credential)
        }
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
