public import SallyportCore

/// Who is at the other end of a stream of bytes, and how it is reached.
public struct StreamFacts: Sendable {
    /// The route, and the rule that decided; nil where no policy was asked.
    public internal(set) var decision: RouteDecision?
    /// Addresses, relay and proxy. On a relayed connection the remote address is the relay's.
    public let connection: ConnectionFacts
    /// Nil where no TLS is spoken with the server.
    public internal(set) var tls: TLS?

    /// What was agreed with the server.
    public struct TLS: Sendable {
        /// As `TLSv1.3`.
        public let version: String
        /// By its name in the standards, as `TLS_AES_256_GCM_SHA384`.
        public let cipher: String
        /// What ALPN chose (RFC 7301); nil where nothing.
        public let applicationProtocol: String?
        /// As the server showed them, its own first; DER.
        public let certificates: [[UInt8]]
        /// Whether the handshake went on with what an earlier connection had agreed.
        public let isResumed: Bool
        /// Checks that the app had switched off.
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

    /// With what a handshake on the open connection agreed.
    package func secured(_ tls: TLS) -> StreamFacts { StreamFacts(connection: connection, tls: tls) }
}

/// A check of TLS with the server that an app may switch off, which takes away what TLS is for.
public enum VerificationCheck: Sendable, Hashable, CaseIterable {
    /// That the certificate is the host's (RFC 2818 §3.1, RFC 9525). Who issued it is still checked.
    case host
    /// That an authority which is trusted has issued the certificate; implies ``host``.
    case peer
}
