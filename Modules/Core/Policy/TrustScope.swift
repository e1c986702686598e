/// The trust settings under which a response was received: the authorities that may issue the server's certificate, the
/// further checks of its chain, and the client certificate; and the cookie jar, whose cookies show the server another
/// user. A response stored under one scope is never used for a load under another.
package struct TrustScope: Sendable, Hashable {
    /// A digest of all settings that apply to the host, 32 bytes. Empty for plain http with the instance's cookies, where
    /// nothing is verified. One byte more for a load that leaves the jar out, and behind it a code for cookies of the
    /// app's own.
    package let digest: [UInt8]
    /// Whether the app is asked about the server's chain, and may present a certificate that the settings do not name.
    package let asksApp: Bool

    package init(digest: [UInt8], asksApp: Bool = false) {
        self.digest = digest
        self.asksApp = asksApp
    }

    /// The scope of every response over plain http with the instance's cookies.
    package static let plain = TrustScope(digest: [])

    /// The scope of a load that does not send the jar's cookies: what a server says to the user whom it knows by the
    /// jar's cookies is not for a load without them, even if the server does not name `Cookie` in `Vary`. Nor is what it
    /// says to one user whose cookies the app has set itself for another.
    ///
    /// - Parameter own: a keyed code for the request's own `Cookie` field; nil if it has none.
    package func withoutJar(own: [UInt8]?) -> TrustScope {
        TrustScope(digest: digest + [own == nil ? 0 : 1] + (own ?? []), asksApp: asksApp)
    }
}

/// The scopes of one session.
package struct TrustScopes: Sendable, Hashable {
    private let standard: [UInt8]
    /// The digests for hosts that have pins or a client certificate of their own.
    private let own: [Host: [UInt8]]
    private let plain: TrustScope
    /// Whether the session's jar is used for requests that do not say.
    package let handlesCookies: Bool

    package init(
        standard: [UInt8], own: [Host: [UInt8]] = [:], plain: TrustScope = .plain, handlesCookies: Bool = true
    ) {
        self.standard = standard
        self.own = own
        self.plain = plain
        self.handlesCookies = handlesCookies
    }

    /// The scope of a load outside of any session. It is equal to no session's scope.
    package static let unnamed = TrustScopes(standard: [0])

    /// - Parameter asksApp: whether the load has a delegate that answers challenges.
    package func scope(of url: RequestURL, asksApp: Bool) -> TrustScope {
        guard url.isSecure else { return plain }
        guard !own.isEmpty, let host = url.endpoint?.host, let digest = own[host] else {
            return TrustScope(digest: standard, asksApp: asksApp)
        }
        return TrustScope(digest: digest, asksApp: asksApp)
    }
}
