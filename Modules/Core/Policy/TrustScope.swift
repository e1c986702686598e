/// Under which conditions an answer was had: who may vouch for the server, what else is asked of its chain, and what the
/// app shows of itself. An answer that was stored under one scope serves no load of another.
package struct TrustScope: Sendable, Hashable {
    /// Of all settings that count for the host; 32 bytes. Empty for plain http, where nothing is verified.
    package let digest: [UInt8]
    /// Whether an app is asked about the server's chain, and may show a certificate that the settings do not name.
    package let asksApp: Bool

    package init(digest: [UInt8], asksApp: Bool = false) {
        self.digest = digest
        self.asksApp = asksApp
    }

    /// Of every answer over plain http.
    package static let plain = TrustScope(digest: [])
}

/// The scopes of one session.
package struct TrustScopes: Sendable, Hashable {
    private let standard: [UInt8]
    /// Of hosts that have pins or a client certificate of their own.
    private let own: [Host: [UInt8]]

    package init(standard: [UInt8], own: [Host: [UInt8]] = [:]) {
        self.standard = standard
        self.own = own
    }

    /// Of a load that no session makes: shared with no session's.
    package static let unnamed = TrustScopes(standard: [0])

    /// - Parameter asksApp: whether the load has somebody who answers challenges.
    package func scope(of url: RequestURL, asksApp: Bool) -> TrustScope {
        guard url.isSecure else { return .plain }
        guard !own.isEmpty, let host = url.endpoint?.host, let digest = own[host] else {
            return TrustScope(digest: standard, asksApp: asksApp)
        }
        return TrustScope(digest: digest, asksApp: asksApp)
    }
}
