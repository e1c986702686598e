public import SallyportCore

/// What a server showed of itself in a handshake, and what became of its verification.
///
/// What a ``LoadError/Code/serverNotTrusted`` has as its underlying error, and a challenge for
/// ``AuthenticationMethod/serverTrust`` as its subject.
public struct ServerTrustEvaluation: Error, Sendable, Hashable {
    /// The server for which the connection was made.
    public let endpoint: Endpoint
    /// The certificates as the server sent them, its own first; DER.
    public let chain: [[UInt8]]
    /// Of ``chain``.
    public let fingerprint: ChainFingerprint
    /// Why the chain does not verify; nil if it does.
    public let failure: Failure?
    /// The connection, which is closed by now.
    public let connection: ConnectionFacts

    public init(
        endpoint: Endpoint, chain: [[UInt8]], fingerprint: ChainFingerprint, failure: Failure?,
        connection: ConnectionFacts
    ) {
        self.endpoint = endpoint
        self.chain = chain
        self.fingerprint = fingerprint
        self.failure = failure
        self.connection = connection
    }

    /// Whether the chain verifies: issued by an authority that the session trusts, for this host, valid now, not
    /// revoked.
    public var isTrusted: Bool { failure == nil }
}

extension ServerTrustEvaluation {
    /// Why a chain does not verify: the first reason found.
    public struct Failure: Sendable, Hashable, CustomStringConvertible {
        public enum Reason: String, Sendable, Hashable, CaseIterable {
            case expired, notYetValid, wrongHost, unknownAuthority, selfSigned, revoked, noRevocationStatus
            case wrongPurpose, weak, invalid
        }

        public let reason: Reason
        /// OpenSSL's words.
        public let message: String

        public init(_ reason: Reason, _ message: String) {
            self.reason = reason
            self.message = message
        }

        public var description: String { "\(reason.rawValue): \(message)" }
    }
}

extension ServerTrustEvaluation: CustomStringConvertible {
    public var description: String {
        "\(endpoint) showed \(chain.count) certificates, \(failure.map { "\($0)" } ?? "which verify")"
    }
}

/// A server's wish for a certificate of the client (RFC 8446 §4.3.2): a challenge's subject.
public struct CertificateRequest: Error, Sendable, Hashable {
    /// The server that asks.
    public let endpoint: Endpoint
    /// The names of the authorities that the server takes; DER. Empty if it does not say.
    public let authorities: [[UInt8]]

    public init(endpoint: Endpoint, authorities: [[UInt8]]) {
        self.endpoint = endpoint
        self.authorities = authorities
    }
}
