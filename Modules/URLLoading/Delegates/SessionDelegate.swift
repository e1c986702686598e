public import SallyportCore

/// Answers a session's questions: one delegate for the session and its loads, and one for a single load where it has its
/// own. Every method has a default that counts as absent.
///
/// Methods are called on no particular thread, several at once where several loads ask. Each may take as long as it
/// likes; at the load's deadline, and where the load is cancelled, its task is cancelled.
public protocol SessionDelegate: Sendable {
    /// A question of the connection: ``AuthenticationMethod/serverTrust`` and
    /// ``AuthenticationMethod/clientCertificate``. The session's delegate is asked, and where it answers `notImplemented`
    /// the method for loads.
    func session(
        _ session: SecureSession, didReceive challenge: AuthenticationChallenge
    ) async -> ChallengeDisposition

    /// A question of a load: those of HTTP always, and those of the connection that the session's method left. The
    /// load's own delegate is asked first.
    func session(
        _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
    ) async -> ChallengeDisposition
}

extension SessionDelegate {
    public func session(
        _ session: SecureSession, didReceive challenge: AuthenticationChallenge
    ) async -> ChallengeDisposition { .notImplemented }

    public func session(
        _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
    ) async -> ChallengeDisposition { .notImplemented }
}

/// Hands the challenges of one load to whoever answers them.
struct DelegateResponder: ChallengeResponder {
    let session: SecureSession
    let request: LoadRequest
    /// Of the load alone.
    let own: (any SessionDelegate)?

    var isOfSession: Bool { own == nil }

    func respond(to challenge: AuthenticationChallenge) async -> ChallengeDisposition {
        if challenge.protectionSpace.method.isOfConnection, let delegate = session.delegate {
            let disposition = await delegate.session(session, didReceive: challenge)
            guard disposition == .notImplemented else { return disposition }
        }
        for delegate in [own, session.delegate].compactMap(\.self) {
            let disposition = await delegate.session(session, loading: request, didReceive: challenge)
            guard disposition == .notImplemented else { return disposition }
        }
        return .notImplemented
    }
}
