internal import SallyportBase
package import SallyportCore
internal import SallyportLoading
package import SallyportTransport

// The decisions about servers, as ``HandshakeDialogue`` uses them.
extension Connector {
    typealias Place = ConnectionDecisions.Place

    /// What is known of a server, and the TLS versions to offer next.
    func begin(_ offer: TLSVersionOffer, at place: Place) -> (TLSVersionStep, ConnectionDecisions.Standing) {
        dropOutdated()
        return (history.step(offer, to: place.endpoint, at: .now), decisions.standing(at: place))
    }

    func set(_ decision: TrustDecision?, at place: Place) { change { $0.set(decision, at: place) } }
    func set(_ shown: ServerTrustEvaluation, at place: Place) { change { $0.set(shown, at: place) } }
    func set(_ wish: CertificateRequest, at place: Place) { change { $0.set(wish, at: place) } }

    /// A decision on the chain that another load has made since, or that was stored for good; nil if there is none.
    ///
    /// - Parameter countsRefusals: whether a decision of the session against the chain counts too.
    func decision(
        on fingerprint: ChainFingerprint, at place: Place, countsRefusals: Bool
    ) async -> TrustDecision? {
        dropOutdated()
        if let known = decisions.standing(at: place).trust, case .decided(fingerprint, let isTrusted) = known,
            isTrusted || countsRefusals
        {
            return known
        }
        let edition = edition
        guard await store?.trustedChain(at: place.endpoint) == fingerprint else { return nil }
        let decision = TrustDecision.decided(fingerprint, isTrusted: true)
        change(ofEdition: edition) { $0.set(decision, at: place) }
        return decision
    }

    /// Trusts a chain in the session, and for good if the app said so.
    ///
    /// - Throws: the store's error if the decision cannot be stored. The chain is not trusted then.
    func trust(_ fingerprint: ChainFingerprint, at place: Place, forGood: Bool) async throws(LoadError) {
        let edition = edition
        do throws(LoadError) {
            if forGood { try await store?.trust(fingerprint, at: place.endpoint) }
        } catch {
            change { $0.set(nil as TrustDecision?, at: place) }
            throw error
        }
        change(ofEdition: edition) { $0.set(.decided(fingerprint, isTrusted: true), at: place) }
    }

    // MARK: Questions

    /// How many loads wait for the app's answers.
    var waiterCount: Int { questions.waiterCount }

    /// Asks the app, or waits with the loads that have asked the same.
    ///
    /// The app answers in a task of its own, because the load that asked first may be cancelled while others wait; it
    /// is cancelled when none waits any more. Docs/Concurrency.md lists it.
    ///
    /// - Returns: nil if the caller's task was cancelled.
    func answer(
        to challenge: AuthenticationChallenge, _ question: PendingQuestions.Question,
        by responder: any ChallengeResponder
    ) async -> ChallengeDisposition? {
        dropOutdated()
        // A load that arrives just after the question was answered finds the answer.
        if responder.isOfSession, let known = decisions.answer(to: challenge, at: question.place) { return known }
        if Task.isCancelled { return nil }
        let (number, signal, isFirst) = questions.join(question)
        if isFirst { questions.began(question, ask(question, number, challenge, responder)) }
        await signal.wait()
        return questions.leave(question, number)
    }

    private func ask(
        _ question: PendingQuestions.Question, _ number: UInt64, _ challenge: AuthenticationChallenge,
        _ responder: any ChallengeResponder
    ) -> Task<Void, Never> {
        let edition = edition
        return Task {
            let answer = await responder.respond(to: challenge)
            guard questions.answered(question, number, with: answer), responder.isOfSession else { return }
            change(ofEdition: edition) { $0.note(answer, to: challenge, at: question.place) }
        }
    }

    // MARK: Forgetting

    /// Forgets that a server's chain is trusted though it fails verification, in all scopes and in the store.
    ///
    /// - Returns: whether there was such a decision.
    /// - Throws: the store's error if the change cannot be stored.
    package func forgetTrust(at endpoint: Endpoint) async throws(LoadError) -> Bool {
        dropOutdated()
        let wasTrusted = decisions.forgetTrust(at: endpoint)
        let wasStored = try await store?.forgetTrust(at: endpoint) ?? false
        // Again: a decision that was being stored meanwhile may have been noted since.
        dropOutdated()
        let isTrustedAgain = decisions.forgetTrust(at: endpoint)
        return wasTrusted || wasStored || isTrustedAgain
    }

    /// Forgets all decisions of a session that has ended.
    package func forget(_ scope: ConnectionPartition.Scope) { decisions.forget(scope) }

    /// Drops the decisions that were made before access was withdrawn.
    func dropOutdated() {
        let present = edition
        guard decisionsEdition != present else { return }
        decisionsEdition = present
        decisions = ConnectionDecisions()
    }

    /// - Parameter edition: the edition of access under which the change was decided; a withdrawal invalidates it.
    private func change(ofEdition edition: UInt64? = nil, _ body: (inout ConnectionDecisions) -> Void) {
        dropOutdated()
        if let edition, edition != decisionsEdition { return }
        body(&decisions)
        if !decisions.isEmpty { noteDecisions() }
    }
}
