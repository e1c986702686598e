public import HTTPTypes

/// A question that a load cannot go on without an answer to.
public struct AuthenticationChallenge: Sendable {
    public let protectionSpace: ProtectionSpace
    /// What default handling would use; after a failure, what was refused.
    public let proposedCredential: Credential?
    /// How often an answer was refused in this load, for this protection space.
    public let previousFailureCount: Int
    /// The answer with the challenge, where HTTP asked.
    public let failureResponse: HTTPResponse?

    public init(
        protectionSpace: ProtectionSpace, proposedCredential: Credential? = nil, previousFailureCount: Int = 0,
        failureResponse: HTTPResponse? = nil
    ) {
        self.protectionSpace = protectionSpace
        self.proposedCredential = proposedCredential
        self.previousFailureCount = previousFailureCount
        self.failureResponse = failureResponse
    }
}

/// What is done with a challenge.
public enum ChallengeDisposition: Sendable, Hashable {
    case use(Credential)
    /// As if nobody had been asked: the load's own credential, else a default one, else the server's answer is the
    /// result.
    case performDefaultHandling
    /// The load ends with ``LoadError/Code/authenticationCancelled``.
    case cancel
    /// The next method that the server offers is tried; without one the server's answer is the result.
    case rejectProtectionSpace
    /// There is nobody who answers: the same as ``performDefaultHandling``.
    case notImplemented
}

/// Who answers the challenges of a load. May take as long as it likes; at the load's deadline its task is cancelled, and
/// must end.
public protocol ChallengeResponder: Sendable {
    func respond(to challenge: AuthenticationChallenge) async -> ChallengeDisposition
}
