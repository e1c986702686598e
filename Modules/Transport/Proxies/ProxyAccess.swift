internal import CCurl
internal import HTTPTypes
package import SallyportBase
package import SallyportCore

/// The proxy of a path, and its user: connections of one user are never used for another.
package struct ProxyAccess: Sendable, Hashable {
    package var proxy: Proxy
    /// The value of `Proxy-Authorization`, sent to an HTTP proxy and never to a server.
    package var authorization: Redacted<String>?
    /// The credential for a SOCKS proxy.
    package var credential: Credential?
    /// The user that an HTTP proxy learns from ``ExchangeRequest/proxyAuthorization``, which each exchange of the path
    /// then has; any bytes that are equal for equal users only.
    package var user: Redacted<[UInt8]>?

    package init(
        _ proxy: Proxy, authorization: Redacted<String>? = nil, credential: Credential? = nil,
        user: Redacted<[UInt8]>? = nil
    ) {
        self.proxy = proxy
        self.authorization = authorization
        self.credential = credential
        self.user = user
    }

    var headerLines: HeaderLines? {
        authorization.flatMap(HeaderLines.init(proxyAuthorization:))
    }
}

extension HeaderLines {
    convenience init?(proxyAuthorization: Redacted<String>) {
        self.init(checked: [HTTPField(name: .proxyAuthorization, value: proxyAuthorization.reveal())])
    }
}

extension PathConfiguration {
    /// `CURLAUTH_BASIC`: nothing of SOCKS but RFC 1929.
    private static let userAndPassword = 1

    func applyProxy(to handle: EasyHandle) {
        guard let access = path.proxy else { return handle.set(CURLOPT_PROXY, "") }
        // SOCKS with the name, so that the proxy looks it up.
        let scheme = access.proxy.kind == .socks5 ? "socks5h" : access.proxy.kind.rawValue
        handle.set(CURLOPT_PROXY, "\(scheme)://\(access.proxy.endpoint)")
        if let credential = access.credential, access.proxy.kind == .socks5 {
            handle.set(CURLOPT_SOCKS5_AUTH, Self.userAndPassword)
            handle.set(CURLOPT_PROXYUSERNAME, credential.user)
            handle.set(CURLOPT_PROXYPASSWORD, credential.password.reveal())
        }
        // The proxy's fields are sent only to the proxy, with CONNECT or not, and the server's are not part of CONNECT.
        handle.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        if let proxyLines {
            unsafe handle.set(CURLOPT_PROXYHEADER, pointer: UnsafeMutableRawPointer(proxyLines.list))
        }
        guard access.proxy.kind == .https else { return }
        handle.set(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
        handle.set(CURLOPT_PROXY_SSL_VERIFYHOST, 2)
        handle.set(CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        handle.setNothing(CURLOPT_PROXY_CAPATH)
        guard case .only(let anchors) = access.proxy.anchors else { return }
        handle.set(CURLOPT_PROXY_CAINFO_BLOB, blob: PEM.certificates(anchors))
    }
}

extension HandshakeSettings {
    /// The settings of the handshake with a proxy. The session's versions, pins and trust apply to servers only.
    static func with(_ proxy: Proxy) -> HandshakeSettings {
        var authorities: [[UInt8]] = []
        if case .systemAnd(let anchors) = proxy.anchors { authorities = anchors }
        return HandshakeSettings(
            peer: .proxy, versions: .standard, additionalAuthorities: authorities,
            revocation: PathConfiguration.noRevocation)
    }
}
