public import HTTPTypes
public import SallyportCore

/// A question that must be answered before a load can continue.
public struct AuthenticationChallenge: Sendable {
    /// Who asks, by which method, and for which realm.
    public let protectionSpace: ProtectionSpace
    /// The credential of default handling; after a failure, the refused one. If a third party, such as a KDC, has
    /// refused its password in this load, it is proposed for no other method, and default handling does not send it
    /// there.
    public let proposedCredential: Credential?
    /// How many answers were refused in this load, for this protection space.
    public let previousFailureCount: Int
    /// The response with the challenge, for challenges of HTTP.
    public let failureResponse: HTTPResponse?
    /// The server's chain, for `AuthenticationMethod.serverTrust`.
    public let serverTrust: ServerTrustEvaluation?
    /// The request, for `AuthenticationMethod.clientCertificate`.
    public let certificateRequest: CertificateRequest?

    /// A challenge, for stages and tests of delegates; without a failure, a response or a question of the connection by
    /// default.
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

/// The answer to a challenge.
public enum ChallengeDisposition: Sendable, Hashable {
    /// Answers a challenge of HTTP.
    case use(Credential)
    /// Answers `AuthenticationMethod.serverTrust`: the app trusts the server with exactly this chain, even if its
    /// verification fails. A chain without a pinned key never raises this question.
    case trust(TrustPersistence)
    /// Answers `AuthenticationMethod.clientCertificate`: for the session's loads of the same principal if its delegate
    /// answers, for the load if the load's own delegate does.
    case present(ClientIdentity)
    /// As without a delegate. HTTP: the load's own credential, or else a default one; without either, the server's
    /// answer is the result. Server trust: the result of verification. Client certificate: none is presented.
    case performDefaultHandling
    /// The load ends with `LoadError.Code.authenticationCancelled`.
    case cancel
    /// The next method that the server offers is tried; without one, the server's answer is the result. A server whose
    /// trust is rejected is not connected to; if a client certificate is rejected, none is presented.
    case rejectProtectionSpace
    /// The delegate does not answer: the same as ``performDefaultHandling``.
    case notImplemented
}

/// How long the trust in a server's chain holds.
public enum TrustPersistence: Sendable, Hashable {
    /// For this load only.
    case none
    /// For the loads of the session, until it ends, the decision is revoked, or the app is locked or wiped.
    case forSession
    /// For all sessions of the instance, even after a restart: stored in the encrypted store until the server presents
    /// another chain or the decision is revoked.
    case permanent
}

/// Answers the challenges of a load. There is no time limit, but at the load's deadline, at a withdrawal and at the end
/// of the session the load ends without the answer: its task is cancelled, and what it returns has no effect.
public protocol ChallengeResponder: Sendable {
    /// Whether the answers apply to all loads of the session; those of a load's own delegate do not.
    var isOfSession: Bool { get }

    /// Answers one challenge. Called again for each further challenge, and for a refused answer with
    /// ``AuthenticationChallenge/previousFailureCount`` increased.
    ///
    /// A disposition of another kind of challenge, such as ``ChallengeDisposition/use(_:)`` for a server's trust, ends
    /// the load with `invalidRequest`.
    func respond(to challenge: AuthenticationChallenge) async -> ChallengeDisposition
}

extension ChallengeResponder {
    /// True: the answers apply to the session's loads.
    public var isOfSession: Bool { true }
}
