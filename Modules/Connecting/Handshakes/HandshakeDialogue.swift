internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// The questions of one TLS connection: the server's chain, the certificate that the server requests, and lower TLS
/// versions.
///
/// A handshake is not kept open while the app decides: it ends, and a new connection is made with the answer. No part
/// of a request has been sent by then. Only a handshake on an existing stream is kept open, since the stream cannot be
/// replaced.
struct HandshakeDialogue {
    /// How many chains one connection asks about: a server may change its certificate between question and answer.
    static let limit = 3

    private let endpoint: Endpoint
    private let questions: ConnectionQuestions
    private let connector: Connector
    private let scope: ConnectionPartition.Scope
    private let permission: (any SessionPermission)?
    /// The certificate that is presented without asking the app.
    private let identity: ClientIdentity?
    private(set) var path: ConnectionPath
    private let offer: TLSVersionOffer
    private let canReconnect: Bool
    /// Whether lower versions may be offered if the present handshake fails.
    private var mayFallBack = false
    private var chains = 0

    /// - Parameter canReconnect: whether an attempt that failed can be made once more, with a decision that was found or
    ///   with lower versions of TLS.
    init(
        with endpoint: Endpoint, asking questions: ConnectionQuestions, _ settings: ConnectionSettings,
        _ path: ConnectionPath, _ connector: Connector, canReconnect: Bool = true
    ) {
        self.endpoint = endpoint
        self.questions = questions
        self.connector = connector
        self.path = path
        scope = settings.scope
        permission = settings.permission
        identity = settings.identities.isEmpty ? nil : settings.identities[endpoint.host]
        offer = TLSVersionOffer(path.versions, fallsBack: canReconnect)
        self.canReconnect = canReconnect
        self.path.versions = offer.first
        self.path.identity = identity
    }

    /// Whether the app accepted the server's chain itself, independently of the session's trust, or presented a
    /// certificate that its settings do not name. The answer is then for this load only: the app decides how long its
    /// decision lasts, and may revoke it.
    var isDecidedByApp: Bool {
        if case .decided(_, isTrusted: true) = path.decision { return true }
        return path.identity != identity
    }

    /// Tries until there is an answer or no question is left.
    ///
    /// - Parameter failure: the error of an earlier try on the same path, if there was one.
    mutating func run<Value>(
        after failure: LoadError? = nil, _ attempt: (ConnectionPath) async throws(LoadError) -> Value
    ) async throws(LoadError) -> Value {
        let standing = await begin()
        if let failure { try await goOn(after: failure) }
        if let standing { try await apply(standing) }
        while true {
            do throws(LoadError) {
                return try await attempt(path)
            } catch {
                try await goOn(after: error)
            }
        }
    }

    private mutating func goOn(after error: LoadError) async throws(LoadError) {
        if let evaluation = error.underlying as? ServerTrustEvaluation {
            try await decide(evaluation, error)
        } else if let request = error.underlying as? CertificateRequest {
            try await decide(request)
        } else {
            try fallBack(after: error)
        }
    }

    /// The server's name in challenges.
    private var origin: String { "https://\(endpoint)" }

    private var place: ConnectionDecisions.Place { ConnectionDecisions.Place(scope: scope, endpoint: endpoint) }

    /// Where the choice of a client certificate is kept: another principal is another user, who has not chosen it.
    private var placeOfPrincipal: ConnectionDecisions.Place { place.of(questions.principal) }

    /// Chooses what is offered.
    ///
    /// - Returns: what is known before the first handshake; nil if there is no question and no decision.
    private mutating func begin() async -> ConnectionDecisions.Standing? {
        if offer.fallback != nil {
            let first = connector.versions.step(offer, to: endpoint)
            (path.versions, path.isFallback, mayFallBack) = (first.versions, first.isFallback, first.next != nil)
        }
        guard questions.responder != nil || connector.hasDecisions || holdsForStore else { return nil }
        return await connector.standing(at: place, of: questions.principal)
    }

    /// Whether the handshake is held until the store was asked: without a second connection, a chain that is trusted for
    /// good could not be taken after verification has failed.
    private var holdsForStore: Bool { !canReconnect && connector.store != nil }

    private mutating func apply(_ standing: ConnectionDecisions.Standing) async throws(LoadError) {
        try await applyTrust(standing)
        if identity == nil { try await applyPresentation(standing) }
    }

    private mutating func applyTrust(_ standing: ConnectionDecisions.Standing) async throws(LoadError) {
        if case .decided(_, isTrusted: true)? = standing.trust {
            path.decision = standing.trust ?? .ask
        } else if let responder = questions.responder {
            path.decision = responder.isOfSession ? standing.trust ?? .ask : .ask
            // A load's own delegate judges the chain that the server presented last. The handshake shows whether it
            // still does.
            guard !responder.isOfSession, let shown = standing.shown else { return }
            try await decide(shown, LoadError(.serverNotTrusted, at: .serverTLS, "\(shown)", underlying: shown))
        } else if holdsForStore {
            path.decision = .ask
        }
    }

    private mutating func applyPresentation(_ standing: ConnectionDecisions.Standing) async throws(LoadError) {
        guard let responder = questions.responder else { return }
        if responder.isOfSession, let decided = standing.presentation {
            if case .identity(let identity) = decided { path.identity = identity }
            return
        }
        path.asksForIdentity = true
        if !responder.isOfSession, let wish = standing.wish { try await decide(wish) }
    }
}

// MARK: The server's chain

extension HandshakeDialogue {
    private mutating func decide(_ evaluation: ServerTrustEvaluation, _ error: LoadError) async throws(LoadError) {
        // The existing decision on this chain applies.
        if case .decided(evaluation.fingerprint, _) = path.decision { throw error }
        chains += 1
        guard chains <= Self.limit else { throw error }
        let known = await connector.decision(
            on: evaluation.fingerprint, at: place, countsRefusals: questions.responder?.isOfSession == true)
        if let known {
            path.decision = known
            return
        }
        guard let responder = questions.responder else {
            // There is no delegate to ask. The server may have a verifiable chain again since another one was trusted.
            guard path.decision != .verification else { throw error }
            path.decision = .verification
            return
        }
        if !responder.isOfSession { await connector.set(evaluation, at: place) }
        let mark = await connector.mark
        switch try await answer(to: challenge(evaluation), by: responder) {
        case .trust(let persistence): try await trust(evaluation.fingerprint, persistence, since: mark)
        case .performDefaultHandling, .notImplemented:
            guard evaluation.isTrusted else { throw error }
            path.decision = .decided(evaluation.fingerprint, isTrusted: false)
        case .rejectProtectionSpace:
            throw LoadError(
                .serverNotTrusted, at: .serverTLS, "The app rejected the server's certificate.",
                underlying: evaluation)
        case .cancel: throw cancelled(.serverTrust)
        case .use, .present: throw Self.wrongAnswer
        }
    }

    private mutating func trust(
        _ fingerprint: ChainFingerprint, _ persistence: TrustPersistence, since mark: DecisionMark
    ) async throws(LoadError) {
        path.decision = .decided(fingerprint, isTrusted: true)
        switch persistence {
        case .none:
            // No other load uses the connection.
            path.partition.load = questions.requestID
        case .forSession, .permanent:
            try await connector.trust(fingerprint, at: place, forGood: persistence == .permanent, since: mark)
        }
    }

    private func challenge(_ evaluation: ServerTrustEvaluation) -> AuthenticationChallenge {
        AuthenticationChallenge(
            protectionSpace: ProtectionSpace(origin: origin, realm: nil, method: .serverTrust),
            serverTrust: evaluation)
    }
}

// MARK: The client's certificate

extension HandshakeDialogue {
    private mutating func decide(_ wish: CertificateRequest) async throws(LoadError) {
        path.asksForIdentity = false
        guard let responder = questions.responder else { return }
        if !responder.isOfSession { await connector.set(wish, at: place) }
        let space = ProtectionSpace(origin: origin, realm: nil, method: .clientCertificate)
        let challenge = AuthenticationChallenge(protectionSpace: space, certificateRequest: wish)
        switch try await answer(to: challenge, by: responder) {
        case .present(let identity): path.identity = identity
        case .performDefaultHandling, .notImplemented, .rejectProtectionSpace: break
        case .cancel: throw cancelled(.clientCertificate)
        case .use, .trust: throw Self.wrongAnswer
        }
    }
}

// MARK: The app's answer

extension HandshakeDialogue {
    /// Waits for the app until the load's deadline, or until its session or access ends.
    private func answer(
        to challenge: AuthenticationChallenge, by responder: any ChallengeResponder
    ) async throws(LoadError) -> ChallengeDisposition {
        let question = PendingQuestions.Question(
            place: challenge.serverTrust == nil ? placeOfPrincipal : place,
            method: challenge.protectionSpace.method, fingerprint: challenge.serverTrust?.fingerprint,
            requestID: responder.isOfSession ? nil : questions.requestID)
        let answer = try await appsAnswer(until: questions.deadline, under: permission) { [connector] in
            await connector.answer(to: challenge, question, by: responder)
        }
        guard let disposition = answer ?? nil else {
            throw LoadError(
                .resourceTimeout, at: .serverTLS, "The challenge was not answered in the time for the load.")
        }
        return disposition
    }

    private func cancelled(_ method: AuthenticationMethod) -> LoadError {
        LoadError(.authenticationCancelled, at: .serverTLS, "The app cancelled the challenge of \(method).")
    }

    private static var wrongAnswer: LoadError {
        LoadError(.invalidRequest, at: .serverTLS, "The app's answer is not one to the challenge.")
    }
}

// MARK: Lower versions

extension HandshakeDialogue {
    /// Asks once more which versions the server was reached with: another load may have reached it with higher ones
    /// meanwhile, and then a handshake that failed must not lead to lower ones.
    private mutating func fallBack(after error: LoadError) throws(LoadError) {
        guard mayFallBack, error.asksForLowerVersions else { throw error }
        mayFallBack = false
        let step = connector.versions.step(offer, to: endpoint)
        guard let lower = step.isFallback ? step.versions : step.next else { throw error }
        path.versions = lower
        path.isFallback = true
        questions.recorder?.decided(.retry, "\(error.code)", because: "lower versions of TLS")
        questions.logger.debug(
            "Trying lower versions of TLS.", metadata: ["request": "\(questions.requestID)"])
    }
}
