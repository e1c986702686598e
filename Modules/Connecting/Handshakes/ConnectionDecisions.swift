internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// What apps and servers have decided about connections, in memory; for all sessions of an instance.
struct ConnectionDecisions: Sendable {
    /// Where a decision holds.
    struct Place: Hashable, Sendable {
        var scope: ConnectionPartition.Scope
        var endpoint: Endpoint
    }

    /// The certificate for a server that requests one.
    enum Presentation: Sendable, Hashable {
        case nothing
        case identity(ClientIdentity)
    }

    /// What is known of a place before a handshake.
    struct Standing: Sendable {
        var trust: TrustDecision?
        var presentation: Presentation?
        /// The chain that was verified when the server last presented it.
        var shown: ServerTrustEvaluation?
        /// The server's last request for a certificate.
        var wish: CertificateRequest?
    }

    /// The number of servers whose last questions are kept. For other servers, a new handshake raises the question
    /// again.
    static let questionLimit = 1000

    private var trust: [Place: TrustDecision] = [:]
    private var presentations: [Place: Presentation] = [:]
    /// Questions of the last handshakes that the server may raise again, so that each load's own delegate can be asked
    /// without another handshake.
    private var shown: [Place: ServerTrustEvaluation] = [:]
    private var wishes: [Place: CertificateRequest] = [:]

    var isEmpty: Bool { trust.isEmpty && presentations.isEmpty && shown.isEmpty && wishes.isEmpty }

    func standing(at place: Place) -> Standing {
        Standing(
            trust: trust[place], presentation: presentations[place], shown: shown[place], wish: wishes[place])
    }

    // MARK: Trust

    mutating func set(_ decision: TrustDecision?, at place: Place) { trust[place] = decision }

    /// Forgets the decisions about a server's chain, in all sessions.
    ///
    /// - Returns: whether anything was trusted.
    mutating func forgetTrust(at endpoint: Endpoint) -> Bool {
        let affected = trust.filter { $0.key.endpoint == endpoint }
        for place in affected.keys { trust[place] = nil }
        return affected.values.contains { if case .decided(_, isTrusted: true) = $0 { true } else { false } }
    }

    mutating func set(_ evaluation: ServerTrustEvaluation, at place: Place) {
        if shown.count >= Self.questionLimit { shown = [:] }
        shown[place] = evaluation.isTrusted ? evaluation : nil
    }

    // MARK: Client certificates

    mutating func set(_ wish: CertificateRequest, at place: Place) {
        if wishes.count >= Self.questionLimit { wishes = [:] }
        wishes[place] = wish
    }

    // MARK: Answers of a session's delegate

    /// The app's earlier answer to the same question; nil if there is none, or if it was for one load only.
    func answer(to challenge: AuthenticationChallenge, at place: Place) -> ChallengeDisposition? {
        guard let fingerprint = challenge.serverTrust?.fingerprint else {
            return switch presentations[place] {
            case .identity(let identity): .present(identity)
            case .nothing: .performDefaultHandling
            case nil: nil
            }
        }
        guard case .decided(fingerprint, let isTrusted)? = trust[place] else { return nil }
        return isTrusted ? .trust(.forSession) : .performDefaultHandling
    }

    /// Keeps an answer that holds for the session.
    mutating func note(_ answer: ChallengeDisposition, to challenge: AuthenticationChallenge, at place: Place) {
        guard let evaluation = challenge.serverTrust else { return notePresentation(answer, at: place) }
        switch answer {
        case .trust(.forSession), .trust(.permanent): trust[place] = .decided(evaluation.fingerprint, isTrusted: true)
        case .performDefaultHandling, .notImplemented:
            if evaluation.isTrusted { trust[place] = .decided(evaluation.fingerprint, isTrusted: false) }
        case .trust(.none), .rejectProtectionSpace, .cancel, .use, .present: break
        }
    }

    private mutating func notePresentation(_ answer: ChallengeDisposition, at place: Place) {
        switch answer {
        case .present(let identity): presentations[place] = .identity(identity)
        case .performDefaultHandling, .notImplemented, .rejectProtectionSpace: presentations[place] = .nothing
        case .cancel, .use, .trust: break
        }
    }

    // MARK: End

    /// Forgets all decisions of a session that has ended.
    mutating func forget(_ scope: ConnectionPartition.Scope) {
        trust = trust.filter { $0.key.scope != scope }
        presentations = presentations.filter { $0.key.scope != scope }
        shown = shown.filter { $0.key.scope != scope }
        wishes = wishes.filter { $0.key.scope != scope }
    }
}
