internal import SallyportBase
package import SallyportCore
internal import SallyportLoading
package import SallyportTransport

// The decisions about servers, as ``HandshakeDialogue`` uses them.
extension Connector {
    typealias Place = ConnectionDecisions.Place

    /// What is known of a server for a principal's connections.
    func standing(at place: Place, of principal: Principal) -> ConnectionDecisions.Standing {
        dropOutdated()
        return decisions.standing(at: place, of: principal)
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
        let mark = mark
        guard await store?.trustedChain(at: place.endpoint) == fingerprint, mark == self.mark else { return nil }
        let decision = TrustDecision.decided(fingerprint, isTrusted: true)
        change { $0.set(decision, at: place) }
        return decision
    }

    /// Trusts a chain in the session, and for good if the app said so. What was undone or withdrawn since the app was
    /// asked is not kept.
    ///
    /// - Parameter mark: from before the app was asked.
    /// - Throws: the store's error if the decision cannot be stored. The chain is not trusted then.
    func trust(
        _ fingerprint: ChainFingerprint, at place: Place, forGood: Bool, since mark: DecisionMark
    ) async throws(LoadError) {
        guard mark == self.mark else { return }
        do throws(LoadError) {
            if forGood { try await store?.trust(fingerprint, at: place.endpoint) }
        } catch {
            change { $0.set(nil as TrustDecision?, at: place) }
            throw error
        }
        guard mark.undos == undos else {
            // Which of the two the store did last is not known.
            if forGood { _ = try await store?.forgetTrust(at: place.endpoint) }
            return
        }
        change(since: mark) { $0.set(.decided(fingerprint, isTrusted: true), at: place) }
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
        let mark = mark
        return Task {
            let answer = await responder.respond(to: challenge)
            guard questions.answered(question, number, with: answer), responder.isOfSession else { return }
            change(since: mark) { $0.note(answer, to: challenge, at: question.place) }
        }
    }

    // MARK: Forgetting

    /// Forgets that a server's chain is trusted though it fails verification, in all scopes and in the store.
    ///
    /// - Returns: whether there was such a decision.
    /// - Throws: the store's error if the change cannot be stored.
    package func forgetTrust(at endpoint: Endpoint) async throws(LoadError) -> Bool {
        dropOutdated()
        // What has been read of the store, or asked of the app, by now or until the store has changed is not kept.
        undos += 1
        defer { undos += 1 }
        let wasTrusted = decisions.forgetTrust(at: endpoint)
        let wasStored = try await store?.forgetTrust(at: endpoint) ?? false
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

    /// What a decision that is being made now has to be compared with before it is kept.
    var mark: DecisionMark { DecisionMark(edition: edition, undos: undos) }

    /// - Parameter mark: from before the change was decided.
    private func change(since mark: DecisionMark? = nil, _ body: (inout ConnectionDecisions) -> Void) {
        dropOutdated()
        if let mark, mark != self.mark { return }
        body(&decisions)
        if !decisions.isEmpty { noteDecisions() }
    }
}

/// What ends decisions. One that was begun under another mark is not kept.
struct DecisionMark: Sendable, Equatable {
    /// The edition of the access under which the decision was begun: each withdrawal that drops secrets begins another.
    var edition: UInt64
    /// How often trust was undone, by beginnings and ends.
    var undos: UInt64
}
