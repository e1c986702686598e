public import HTTPTypes
public import SallyportCore

/// A question that a load cannot go on without an answer to.
public struct AuthenticationChallenge: Sendable {
    public let protectionSpace: ProtectionSpace
    /// What default handling would use; after a failure, what was refused.
    public let proposedCredential: Credential?
    /// How often an answer was refused in this load, for this protection space.
    public let previousFailureCount: Int
    /// The answer with the challenge, where HTTP asked.
    public let failureResponse: HTTPResponse?
    /// What is in question for ``AuthenticationMethod/serverTrust``.
    public let serverTrust: ServerTrustEvaluation?
    /// What is wished for with ``AuthenticationMethod/clientCertificate``.
    public let certificateRequest: CertificateRequest?

    public init(
        protectionSpace: ProtectionSpace, proposedCredential: Credential? = nil, previousFailureCount: Int = 0,
        failureResponse: HTTPResponse? = nil, serverTrust: ServerTrustEvaluation? = nil,
        certificateRequest: CertificateRequest? = nil
    ) {
        self.protectionSpace = protectionSpace
        self.proposedCredential = proposedCredential
        self.previousFailureCount = previousFailureCount
        self.failureResponse = failureResponse
        self.serverTrust = serverTrust
        self.certificateRequest = certificateRequest
    }
}

/// What is done with a challenge.
public enum ChallengeDisposition: Sendable, Hashable {
    /// Answers a challenge of HTTP.
    case use(Credential)
    /// Answers ``AuthenticationMethod/serverTrust``: the app takes the server for the right one, with exactly the chain
    /// that it showed, whether that verifies or not. A chain without a pinned key is never in question.
    case trust(TrustPersistence)
    /// Answers ``AuthenticationMethod/clientCertificate``: for the session where its delegate says so, for the load
    /// where the load's own does.
    case present(ClientIdentity)
    /// As without a delegate. HTTP: the load's own credential, else a default one, else the server's answer is the
    /// result. Server trust: the result of verification. Client certificate: none is shown.
    case performDefaultHandling
    /// The load ends with ``LoadError/Code/authenticationCancelled``.
    case cancel
    /// The next method that the server offers is tried; without one the server's answer is the result. A server whose
    /// trust is rejected is not connected to; where a client certificate is, none is shown.
    case rejectProtectionSpace
    /// The delegate does not answer: the same as ``performDefaultHandling``.
    case notImplemented
}

/// How long the trust in a server's chain holds.
public enum TrustPersistence: Sendable, Hashable {
    /// For the one load.
    case none
    /// For the loads of the session, until it ends, the decision is undone, or the app is locked or wiped.
    case forSession
    /// For all sessions of the instance and over its restarts, kept in the encrypted store, until the server shows
    /// another chain or the decision is undone.
    case permanent
}

/// Answers the challenges of a load. May take as long as it likes; at the load's deadline its task is cancelled, and
/// must end.
public protocol ChallengeResponder: Sendable {
    /// Whether the answers count for all loads of the session; those of a load's own delegate do not.
    var isOfSession: Bool { get }

    func respond(to challenge: AuthenticationChallenge) async -> ChallengeDisposition
}

extension ChallengeResponder {
    public var isOfSession: Bool { true }
}
