public import SallyportCore
public import SallyportLoading
internal import SallyportTransport

/// Who is at the other end of a socket's connection, and how it is reached.
public struct PeerFacts: Sendable {
    /// The route, and the rule that decided.
    public let decision: RouteDecision
    /// Addresses and relay. On a relayed connection the remote address is the relay's.
    public let connection: ConnectionFacts
    /// Nil where no TLS is spoken with the server.
    public let tls: TLS?

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
        public let disabledChecks: Set<VerificationCheck>
    }

    init(_ facts: TunnelFacts, _ decision: RouteDecision, disabled: Set<VerificationCheck>) {
        self.decision = decision
        connection = facts.connection
        tls = facts.tls.map { tls in
            TLS(
                version: tls.version, cipher: tls.cipher, applicationProtocol: tls.applicationProtocol,
                certificates: tls.certificates, isResumed: tls.isResumed, disabledChecks: disabled)
        }
    }
}
