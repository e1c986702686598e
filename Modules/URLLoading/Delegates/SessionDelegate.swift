public import HTTPTypes
internal import SallyportCore
public import SallyportLoading

/// Answers a session's questions: one delegate for the session and its loads, and one for a single load where it has its
/// own. Every method has a default that counts as absent.
///
/// Methods are called on no particular thread, several at once where several loads ask. Each may take as long as it
/// likes. At the load's deadline, at a withdrawal, at the end of the session, and if the load is cancelled, the load
/// ends at once: the method's task is cancelled, and what it returns has no effect.
public protocol SessionDelegate: Sendable {
    /// A question of the connection: `AuthenticationMethod.serverTrust` and
    /// `AuthenticationMethod.clientCertificate`. The session's delegate is asked, and where it answers `notImplemented`
    /// the method for loads.
    func session(
        _ session: SecureSession, didReceive challenge: AuthenticationChallenge
    ) async -> ChallengeDisposition

    /// A question of a load: those of HTTP always, and those of the connection that the session's method left. The
    /// load's own delegate is asked first.
    func session(
        _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
    ) async -> ChallengeDisposition

    /// The server redirects a load, which would go on with `proposed`: asked for each hop, before anything is sent.
    ///
    /// Called for loads that follow redirects, and within their limit. The load's own delegate is asked first.
    ///
    /// - Parameters:
    ///   - session: the session that loads.
    ///   - request: the one that `response` answers.
    ///   - proposed: with the method, the body and the fields that the standards leave it.
    ///   - response: the redirect's head.
    func session(
        _ session: SecureSession, loading request: LoadRequest, willRedirectTo proposed: LoadRequest,
        response: HTTPResponse
    ) async -> RedirectDecision

    /// The time has come for a task that was made with an earliest begin.
    ///
    /// Called once for a task, before its load begins; its own delegate is asked first.
    func session(_ session: SecureSession, willBeginDelayed request: LoadRequest) async -> DelayedBegin

    /// A load with ``SessionConfiguration/waitsForConnectivity`` has found no connection, and waits for one. Told to the
    /// load's own delegate and to the session's, once for each time that it begins to wait.
    func session(_ session: SecureSession, isWaitingForConnectivity request: LoadRequest) async

    /// A load is over, its body with it, however it ended: called once for each, on any thread, and must not block. The
    /// load's own delegate is told first, then the session's.
    func session(_ session: SecureSession, loading request: LoadRequest, didFinish record: LoadRecord)
}

/// What becomes of a redirect.
public enum RedirectDecision: Sendable {
    /// As if there were no method: the next delegate is asked, and the proposed request is sent where there is none.
    case notImplemented
    /// Goes on with this request: the proposed one, or one that the app has changed.
    ///
    /// If its URL has another origin than the redirected request's or the proposed one's, that request's credentials are
    /// dropped, and so are its fields whose `FieldScopes` do not reach that far. Fields and credentials with other values
    /// are kept: the app has set them on purpose. No redirect brings a credential, or a field that holds one, to another
    /// origin with the same value: for that, answer ``stop`` and begin a load of its own. The next redirect is judged
    /// like any other. A step from `https` to `http` ends the load with `insecureRedirect`, unless this request or the
    /// session allows it.
    case follow(LoadRequest)
    /// The redirect itself is the answer, with its body.
    case stop
    /// The load ends with `redirectRefused`.
    case refuse
}

/// What becomes of a task whose time to begin has come.
public enum DelayedBegin: Sendable {
    /// As if there were no method: the next delegate is asked, and the request is loaded where there is none.
    case notImplemented
    /// Loads the task's request as it is; no further delegate is asked.
    case proceed
    /// Loads this request instead.
    case change(LoadRequest)
    /// The task ends with `cancelled`.
    case cancel
}

extension SessionDelegate {
    /// Does nothing.
    public func session(_ session: SecureSession, loading request: LoadRequest, didFinish record: LoadRecord) {}

    /// Does not answer: `ChallengeDisposition.notImplemented`.
    public func session(
        _ session: SecureSession, didReceive challenge: AuthenticationChallenge
    ) async -> ChallengeDisposition { .notImplemented }

    /// Does not answer: `ChallengeDisposition.notImplemented`.
    public func session(
        _ session: SecureSession, loading request: LoadRequest, didReceive challenge: AuthenticationChallenge
    ) async -> ChallengeDisposition { .notImplemented }

    /// Does not answer: ``RedirectDecision/notImplemented``.
    public func session(
        _ session: SecureSession, loading request: LoadRequest, willRedirectTo proposed: LoadRequest,
        response: HTTPResponse
    ) async -> RedirectDecision { .notImplemented }

    /// Does not answer: ``DelayedBegin/notImplemented``.
    public func session(_ session: SecureSession, willBeginDelayed request: LoadRequest) async -> DelayedBegin {
        .notImplemented
    }

    /// Does nothing.
    public func session(_ session: SecureSession, isWaitingForConnectivity request: LoadRequest) async {}
}

/// Passes the questions of one load to the delegates that answer them.
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
        for delegate in delegates {
            let disposition = await delegate.session(session, loading: request, didReceive: challenge)
            guard disposition == .notImplemented else { return disposition }
        }
        return .notImplemented
    }

    /// The load's own first.
    private var delegates: [any SessionDelegate] { [own, session.delegate].compactMap(\.self) }

    func redirects(_ request: LoadRequest, to proposed: LoadRequest, _ response: HTTPResponse) async -> RedirectDecision
    {
        for delegate in delegates {
            let decision = await delegate.session(
                session, loading: request, willRedirectTo: proposed, response: response)
            if case .notImplemented = decision { continue }
            return decision
        }
        return .notImplemented
    }

    func begins(_ request: LoadRequest) async -> DelayedBegin {
        for delegate in delegates {
            let decision = await delegate.session(session, willBeginDelayed: request)
            if case .notImplemented = decision { continue }
            return decision
        }
        return .notImplemented
    }

    func waitsForConnectivity() async {
        for delegate in delegates { await delegate.session(session, isWaitingForConnectivity: request) }
    }
}
