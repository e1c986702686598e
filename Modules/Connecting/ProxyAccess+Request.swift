internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

extension ProxyAccess {
    /// Who the proxy is told that asks: HTTP in a field of the request's that goes no further, SOCKS at once.
    ///
    /// - Parameter fields: those that the request is sent with.
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

    /// A digest is another one for each request (RFC 7616): what goes before its nonce is the user, who may share
    /// connections with themselves.
    private static func user(ofDigest field: String) -> Redacted<String>? {
        guard field.hasPrefix("Digest "), let nonce = field.firstRange(of: ", nonce=") else { return nil }
        return Redacted(String(field[..<nonce.lowerBound]))
    }

    /// Nothing that the proxy could take for a proof by Basic, where that is forbidden or others would read it; SOCKS has
    /// its own way.
    init(untold proxy: Proxy) {
        self.init(proxy, credential: proxy.kind == .socks5 ? proxy.credential : nil)
    }

    /// Where nobody answers challenges, an HTTP proxy that has a credential is told it at once.
    init(toldAtOnce proxy: Proxy) throws(LoadError) {
        switch proxy.kind {
        case .http, .https: self.init(proxy, authorization: try proxy.credential?.basicAuthorization())
        case .socks5: self.init(proxy, credential: proxy.credential)
        }
    }
}
