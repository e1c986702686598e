package import SallyportCore

/// The version of TLS with which a handshake with a server has succeeded.
package struct AgreedVersion: Sendable, Hashable {
    /// Is called on a loop, once for each new connection, before anything of a request is sent.
    package typealias Listener = @Sendable (AgreedVersion) -> Void

    package let endpoint: Endpoint
    package let version: TLSVersion
    /// Whether only lower versions were offered, because a handshake with higher ones had failed.
    package let isFallback: Bool
    /// Whether the server has shown that it is the one with this name: false if the check of its certificate or of the
    /// name in it was switched off, and if the app trusts a chain that has failed the check.
    package let isAuthenticated: Bool

    package init(_ version: TLSVersion, with endpoint: Endpoint, isFallback: Bool, isAuthenticated: Bool) {
        self.version = version
        self.endpoint = endpoint
        self.isFallback = isFallback
        self.isAuthenticated = isAuthenticated
    }
}

extension LoopShare {
    /// Tells the listener of a handshake that has succeeded.
    func agreed(on version: TLSVersion?, in handshake: HandshakeRecord, with endpoint: Endpoint) {
        guard let whenAgreed, let version else { return }
        whenAgreed(
            AgreedVersion(
                version, with: endpoint, isFallback: handshake.settings.isFallback,
                isAuthenticated: handshake.isAuthenticated))
    }
}
