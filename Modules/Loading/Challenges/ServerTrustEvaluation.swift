public import SallyportCore

/// What a server presented in a handshake, and the result of its verification.
///
/// The underlying error of `LoadError.Code.serverNotTrusted`, and the subject of a challenge for
/// `AuthenticationMethod.serverTrust`.
public struct ServerTrustEvaluation: Error, Sendable, Hashable {
    /// The server for which the connection was made.
    public let endpoint: Endpoint
    /// The certificates as the server sent them, its own first; DER.
    public let chain: [[UInt8]]
    /// The fingerprint of ``chain``.
    public let fingerprint: ChainFingerprint
    /// Why the verification fails; nil if it succeeds.
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

    /// Whether the chain is valid: issued by an authority that the session trusts, for this host, not expired and not
    /// revoked.
    public var isTrusted: Bool { failure == nil }
}

extension ServerTrustEvaluation {
    /// Why the verification of a chain fails: the first reason found.
    public struct Failure: Sendable, Hashable, CustomStringConvertible {
        /// The kinds of failures. `expired`, `notYetValid`, `wrongPurpose` and `weak` may concern any certificate of
        /// the chain. With `selfSigned` the chain consists of, or ends in, a self-signed certificate that is not
        /// trusted; with `unknownAuthority` its issuer is not known or not trusted. `noRevocationStatus` means that a
        /// required CRL or stapled OCSP answer is missing or not valid. `weak` is a key or a signature's hash below the
        /// limits of OpenSSL, and `invalid` is anything else.
        public enum Reason: String, Sendable, Hashable, CaseIterable {
            case expired, notYetValid, wrongHost, unknownAuthority, selfSigned, revoked, noRevocationStatus
            case wrongPurpose, weak, invalid
        }

        /// The kind of failure.
        public let reason: Reason
        /// OpenSSL's message.
        public let message: String

        /// - Parameters:
        ///   - reason: the kind of failure.
        ///   - message: for people; no certificate's content.
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

/// A server's request for a client certificate (RFC 8446 §4.3.2): the subject of a challenge.
public struct CertificateRequest: Error, Sendable, Hashable {
    /// The server that requests it.
    public let endpoint: Endpoint
    /// The names of the accepted authorities; DER. Empty if the server does not say.
    public let authorities: [[UInt8]]

    public init(endpoint: Endpoint, authorities: [[UInt8]]) {
        self.endpoint = endpoint
        self.authorities = authorities
    }
}
