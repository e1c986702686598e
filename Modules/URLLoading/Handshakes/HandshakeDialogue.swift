internal import Logging
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// One exchange over TLS, with what its handshakes put in question: the chain that the server shows, the certificate
/// that it wants to see, and lower versions of TLS.
///
/// No handshake is held open while the app thinks: it ends, and the exchange is made anew with the answer. Nothing of the
/// request was sent by then.
struct HandshakeDialogue {
    /// How many chains one exchange asks about: a server may change its certificate between question and answer.
    static let limit = 3

    private let endpoint: Endpoint
    private let request: LoadRequest
    private let context: LoadContext
    private let decisions: ConnectionDecisions
    private let tag: String
    /// What is shown to the server unasked.
    private let identity: ClientIdentity?
    private var path: ConnectionPath
    /// Offered once more, where the first offer ends the handshake.
    private var fallback: TLSVersions?
    private let mayFallBack: Bool
    private var chains = 0

    init(
        with endpoint: Endpoint, for request: LoadRequest, in context: LoadContext, settings: ExchangeSettings,
        path: ConnectionPath
    ) {
        self.endpoint = endpoint
        self.request = request
        self.context = context
        self.path = path
        decisions = settings.decisions
        tag = settings.tag
        identity = settings.identities.isEmpty ? nil : settings.identities[endpoint.host]
        let offer = TLSVersionOffer(path.versions)
        mayFallBack = offer.fallback != nil
        self.path.versions = offer.first
        self.path.identity = identity
        applyFallback(offer)
    }

    /// Whether the app itself took the server's chain, whatever the session trusts, or showed a certificate that its
    /// settings do not name. What is answered then is for this load: how long the app's word holds is the app's to say,
    /// and it may take it back.
    var isByAppsWord: Bool {
        if case .decided(_, isTrusted: true) = path.decision { return true }
        return path.identity != identity
    }

    mutating func exchange(
        _ exchange: ExchangeRequest, with client: some ExchangeClient
    ) async throws(LoadError) -> ExchangeResponse {
        if context.responder != nil || !decisions.isEmpty { try await applyDecisions() }
        while true {
            do throws(LoadError) {
                let response = try await client.exchange(exchange, via: path)
                noteVersions()
                return response
            } catch {
                if error.step == .request || error.step == .response { noteVersions() }
                try await goOn(after: error)
            }
        }
    }

    /// Goes on where an exchange on the same path failed.
    mutating func exchange(
        _ exchange: ExchangeRequest, after error: LoadError, with client: some ExchangeClient
    ) async throws(LoadError) -> ExchangeResponse {
        try await goOn(after: error)
        return try await self.exchange(exchange, with: client)
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

    private var place: ConnectionDecisions.Place { ConnectionDecisions.Place(tag: tag, endpoint: endpoint) }

    /// What holds before the first handshake.
    private mutating func applyDecisions() async throws(LoadError) {
        try await applyTrust()
        if identity == nil { try await applyPresentation() }
    }

    private mutating func applyTrust() async throws(LoadError) {
        let decision = decisions.trust(at: place)
        if case .decided(_, isTrusted: true)? = decision {
            path.decision = decision ?? .ask
        } else if let responder = context.responder {
            path.decision = responder.isOfSession ? decision ?? .ask : .ask
            // A load's own delegate judges what the server showed last. Whether it still shows it is seen then.
            guard !responder.isOfSession, let shown = decisions.shown(at: place) else { return }
            try await decide(shown, LoadError(.serverNotTrusted, at: .serverTLS, "\(shown)", underlying: shown))
        }
    }

    private mutating func applyPresentation() async throws(LoadError) {
        guard let responder = context.responder else { return }
        if responder.isOfSession, let decided = decisions.presentation(at: place) {
            if case .identity(let identity) = decided { path.identity = identity }
            return
        }
        path.asksForIdentity = true
        if !responder.isOfSession, let wish = decisions.wish(at: place) { try await decide(wish) }
    }
}

// MARK: The server's chain

extension HandshakeDialogue {
    private mutating func decide(_ evaluation: ServerTrustEvaluation, _ error: LoadError) async throws(LoadError) {
        // What was decided on this chain stands.
        if case .decided(evaluation.fingerprint, _) = path.decision { throw error }
        chains += 1
        guard chains <= Self.limit else { throw error }
        if await isDecided(evaluation.fingerprint) { return }
        guard let responder = context.responder else {
            // Nobody is there to ask. The server may have got a chain that verifies since one was trusted.
            guard path.decision != .verification else { throw error }
            path.decision = .verification
            return
        }
        if !responder.isOfSession { decisions.set(evaluation, at: place) }
        switch try await answer(to: challenge(evaluation), by: responder) {
        case .trust(let persistence): try await trust(evaluation.fingerprint, persistence)
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

    /// Whether somebody else has decided on the chain since, or it is trusted for good.
    private mutating func isDecided(_ fingerprint: ChainFingerprint) async -> Bool {
        if let decision = decisions.trust(at: place), case .decided(fingerprint, let isTrusted) = decision,
            isTrusted || context.responder?.isOfSession == true
        {
            path.decision = decision
            return true
        }
        guard await decisions.store?.trustedChain(at: endpoint) == fingerprint else { return false }
        path.decision = .decided(fingerprint, isTrusted: true)
        decisions.set(path.decision, at: place)
        return true
    }

    private mutating func trust(
        _ fingerprint: ChainFingerprint, _ persistence: TrustPersistence
    ) async throws(LoadError) {
        path.decision = .decided(fingerprint, isTrusted: true)
        switch persistence {
        case .none:
            // No other load uses the connection.
            path.partition = "\(tag)#\(context.requestID)/\(context.principal.name)"
        case .forSession: decisions.set(path.decision, at: place)
        case .permanent:
            do throws(LoadError) {
                try await decisions.store?.trust(fingerprint, at: endpoint)
            } catch {
                decisions.forget(place)
                throw error
            }
            decisions.set(path.decision, at: place)
        }
    }

    private func challenge(_ evaluation: ServerTrustEvaluation) -> AuthenticationChallenge {
        AuthenticationChallenge(
            protectionSpace: ProtectionSpace(origin: request.url.origin, realm: nil, method: .serverTrust),
            serverTrust: evaluation)
    }
}

// MARK: The client's certificate

extension HandshakeDialogue {
    private mutating func decide(_ wish: CertificateRequest) async throws(LoadError) {
        path.asksForIdentity = false
        guard let responder = context.responder else { return }
        if !responder.isOfSession { decisions.set(wish, at: place) }
        let space = ProtectionSpace(origin: request.url.origin, realm: nil, method: .clientCertificate)
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
    /// Waits for the app until the load's deadline.
    private func answer(
        to challenge: AuthenticationChallenge, by responder: any ChallengeResponder
    ) async throws(LoadError) -> ChallengeDisposition {
        let question = PendingQuestions.Question(
            place: place, method: challenge.protectionSpace.method, fingerprint: challenge.serverTrust?.fingerprint,
            requestID: responder.isOfSession ? nil : context.requestID)
        let answer = await untilDeadline(context.deadline) { [decisions] in
            await decisions.pending.answer(to: question) {
                guard responder.isOfSession else { return await responder.respond(to: challenge) }
                // Whoever comes with the question when it has just been answered finds the answer, not the app.
                if let known = decisions.answer(to: challenge, at: question.place) { return known }
                let answer = await responder.respond(to: challenge)
                decisions.note(answer, to: challenge, at: question.place)
                return answer
            }
        }
        if Task.isCancelled { throw .cancelled() }
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
    private mutating func applyFallback(_ offer: TLSVersionOffer) {
        guard let lower = offer.fallback, !decisions.versions.isModern(endpoint) else { return }
        if decisions.versions.isLegacy(endpoint) {
            path.versions = lower
            path.isFallback = true
        } else {
            fallback = lower
        }
    }

    private mutating func fallBack(after error: LoadError) throws(LoadError) {
        guard let lower = fallback, error.asksForLowerVersions else { throw error }
        fallback = nil
        path.versions = lower
        path.isFallback = true
        context.recorder?.decided(.retry, "\(error.code)", because: "lower versions of TLS")
        context.logger.debug("Trying lower versions of TLS.", metadata: ["request": "\(context.requestID)"])
    }

    /// The handshake was good.
    private func noteVersions() {
        if mayFallBack { decisions.versions.reached(endpoint, withLowerVersions: path.isFallback) }
    }
}
