public import SallyportCore

/// Which server a stream of bytes leads to, and how it is reached.
public struct StreamFacts: Sendable {
    /// The route, and the rule that decided it; nil if no policy was asked.
    public internal(set) var decision: RouteDecision?
    /// Addresses, relay and proxy. On a relayed connection the remote address is the relay's.
    public let connection: ConnectionFacts
    /// Nil if the connection to the server does not use TLS.
    public internal(set) var tls: TLS?

    /// What was negotiated with the server.
    public struct TLS: Sendable {
        /// The version, such as `TLSv1.3`.
        public let version: String
        /// The cipher suite's name in the standards, such as `TLS_AES_256_GCM_SHA384`.
        public let cipher: String
        /// The protocol that ALPN chose (RFC 7301); nil if it chose none.
        public let applicationProtocol: String?
        /// The server's certificates as it sent them, its own first; DER.
        public let certificates: [[UInt8]]
        /// Whether the handshake resumed the TLS session of an earlier connection.
        public let isResumed: Bool
        /// The checks that the app had switched off.
        public internal(set) var disabledChecks: Set<VerificationCheck> = []

        package init(
            version: String, cipher: String, applicationProtocol: String?, certificates: [[UInt8]], isResumed: Bool
        ) {
            self.version = version
            self.cipher = cipher
            self.applicationProtocol = applicationProtocol
            self.certificates = certificates
            self.isResumed = isResumed
        }
    }

    package init(connection: ConnectionFacts, tls: TLS? = nil) {
        self.connection = connection
        self.tls = tls
    }

    /// The facts after a TLS handshake on the open connection.
    package func secured(_ tls: TLS) -> StreamFacts { StreamFacts(connection: connection, tls: tls) }
}

/// A check of the server's certificate that an app may switch off. Without it, TLS no longer protects against a false
/// server.
public enum VerificationCheck: Sendable, Hashable, CaseIterable {
    /// That the certificate is the host's (RFC 2818 §3.1, RFC 9525). Its issuer is still checked if this is off.
    case host
    /// That a trusted authority has issued the certificate. Switching it off switches off ``host`` too.
    case peer
}
