internal import SallyportBase
package import SallyportCore
internal import SallyportLoading
package import SallyportTransport
internal import Synchronization

/// What apps and servers have decided about connections, in memory; for all sessions of an instance.
///
/// One lock, a leaf, taken by loads whose session has a delegate or a decision.
package final class ConnectionDecisions: Sendable {
    /// Where a decision holds.
    struct Place: Hashable, Sendable {
        var scope: ConnectionPartition.Scope
        var endpoint: Endpoint
    }

    /// What a server that asks for a certificate is shown.
    enum Presentation: Sendable, Hashable {
        case nothing
        case identity(ClientIdentity)
    }

    private struct State {
        var trust: [Place: TrustDecision] = [:]
        var presentations: [Place: Presentation] = [:]
        /// What the last handshakes put in question that the server may put again: so that each load's own delegate is
        /// asked without one.
        var shown: [Place: ServerTrustEvaluation] = [:]
        var wishes: [Place: CertificateRequest] = [:]
    }

    /// How many servers' last questions are kept; beyond, they are put by a handshake again.
    static let questionLimit = 1000

    private let state = Lock(State())
    /// Whether there is any decision of an app: read by each load.
    private let hasDecisions = Atomic(false)
    /// Decisions for good; nil where there is no store.
    package let store: (any DecisionStore)?
    let pending = PendingQuestions()

    init(store: (any DecisionStore)? = nil) { self.store = store }

    var isEmpty: Bool { !hasDecisions.load(ordering: .acquiring) }

    // MARK: Trust

    func trust(at place: Place) -> TrustDecision? { state.withLock { $0.trust[place] } }

    func set(_ decision: TrustDecision, at place: Place) {
        state.withLock { $0.trust[place] = decision }
        hasDecisions.store(true, ordering: .releasing)
    }

    func forget(_ place: Place) { state.withLock { $0.trust[place] = nil } }

    /// Forgets what was decided on a server's chain, in all sessions.
    ///
    /// - Returns: whether anything was trusted.
    package func forgetTrust(at endpoint: Endpoint) -> Bool {
        state.withLock { state in
            let affected = state.trust.filter { $0.key.endpoint == endpoint }
            for place in affected.keys { state.trust[place] = nil }
            return affected.values.contains { if case .decided(_, isTrusted: true) = $0 { true } else { false } }
        }
    }

    /// The chain that verified when the server showed it last.
    func shown(at place: Place) -> ServerTrustEvaluation? { state.withLock { $0.shown[place] } }

    func set(_ shown: ServerTrustEvaluation, at place: Place) {
        state.withLock { state in
            if state.shown.count >= Self.questionLimit { state.shown = [:] }
            state.shown[place] = shown.isTrusted ? shown : nil
        }
        hasDecisions.store(true, ordering: .releasing)
    }

    // MARK: Client certificates

    func wish(at place: Place) -> CertificateRequest? { state.withLock { $0.wishes[place] } }

    func set(_ wish: CertificateRequest, at place: Place) {
        state.withLock { state in
            if state.wishes.count >= Self.questionLimit { state.wishes = [:] }
            state.wishes[place] = wish
        }
    }

    func presentation(at place: Place) -> Presentation? { state.withLock { $0.presentations[place] } }

    func set(_ presentation: Presentation, at place: Place) {
        state.withLock { $0.presentations[place] = presentation }
        hasDecisions.store(true, ordering: .releasing)
    }

    // MARK: Answers of a session's delegate

    /// What the app has said to the same question before; nil where it has not, or said that it holds for one load.
    func answer(to challenge: AuthenticationChallenge, at place: Place) -> ChallengeDisposition? {
        guard let fingerprint = challenge.serverTrust?.fingerprint else {
            return switch presentation(at: place) {
            case .identity(let identity): .present(identity)
            case .nothing: .performDefaultHandling
            case nil: nil
            }
        }
        guard case .decided(fingerprint, let isTrusted)? = trust(at: place) else { return nil }
        return isTrusted ? .trust(.forSession) : .performDefaultHandling
    }

    /// Keeps an answer that holds for the session.
    func note(_ answer: ChallengeDisposition, to challenge: AuthenticationChallenge, at place: Place) {
        guard let evaluation = challenge.serverTrust else { return notePresentation(answer, at: place) }
        switch answer {
        case .trust(.forSession), .trust(.permanent): set(.decided(evaluation.fingerprint, isTrusted: true), at: place)
        case .performDefaultHandling, .notImplemented:
            if evaluation.isTrusted { set(.decided(evaluation.fingerprint, isTrusted: false), at: place) }
        case .trust(.none), .rejectProtectionSpace, .cancel, .use, .present: break
        }
    }

    private func notePresentation(_ answer: ChallengeDisposition, at place: Place) {
        switch answer {
        case .present(let identity): set(.identity(identity), at: place)
        case .performDefaultHandling, .notImplemented, .rejectProtectionSpace: set(.nothing, at: place)
        case .cancel, .use, .trust: break
        }
    }

    // MARK: End

    /// The session of the scope is gone.
    package func forget(_ scope: ConnectionPartition.Scope) {
        guard !isEmpty else { return }
        state.withLock { state in
            state.trust = state.trust.filter { $0.key.scope != scope }
            state.presentations = state.presentations.filter { $0.key.scope != scope }
            state.shown = state.shown.filter { $0.key.scope != scope }
            state.wishes = state.wishes.filter { $0.key.scope != scope }
        }
    }

    /// The app was locked or wiped.
    package func clear() {
        state.withLock {
            $0.trust = [:]
            $0.presentations = [:]
        }
    }
}
