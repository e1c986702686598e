internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// Finds the credential that answers a challenge: from a scheme that needs no question, from the app, or a stored one.
extension Negotiator {
    func find(
        _ offer: Negotiation.Offer, after failureCount: Int, _ head: HTTPResponse
    ) async throws(LoadError) -> Negotiation.Finding {
        let scheme = stage.schemes[offer.space.method]
        // The app's credential for this request is preferred over a credential that a scheme already has.
        if failureCount == 0, challenger.credential == nil,
            let credential = try await credentialAtHand(scheme, in: offer.space)
        {
            return .atHand(credential)
        }
        var proposed = challenger.credential
        if proposed == nil { proposed = await credentials.credential(for: offer.space, of: principal) }
        // Delegates usually answer a first challenge with what it proposes, which would count as their own choice.
        if let credential = proposed, !negotiation.mayPropose(credential, in: offer.space) { proposed = nil }
        let challenge = AuthenticationChallenge(
            protectionSpace: offer.space, proposedCredential: proposed, previousFailureCount: failureCount,
            failureResponse: head)
        switch try await disposition(of: challenge) {
        case .use(let credential): return takes(credential, scheme) ? .credential(credential) : .nothing
        case .performDefaultHandling, .notImplemented:
            guard let proposed, takes(proposed, scheme) else { return .nothing }
            return .proposed(proposed)
        case .rejectProtectionSpace: return .rejected
        case .trust, .present:
            throw LoadError(
                .invalidRequest, at: .response, "The answer is not one to the challenge of \(offer.space).")
        case .cancel:
            throw LoadError(
                .authenticationCancelled, at: .response, "The app cancelled the challenge of \(offer.space).")
        }
    }

    /// The first credential that the scheme has of a user who the principal may be in the space. If there is none, the
    /// app is asked, which may know the right user.
    private func credentialAtHand(
        _ scheme: (any AuthenticationScheme)?, in space: ProtectionSpace
    ) async throws(LoadError) -> Credential? {
        guard let scheme else { return nil }
        for credential in try await scheme.credentialsAtHand(in: space, of: principal) {
            if await credentials.admits(credential, for: space, of: principal) { return credential }
        }
        return nil
    }

    private func takes(_ credential: Credential, _ scheme: (any AuthenticationScheme)?) -> Bool {
        scheme?.takes(credential) ?? true
    }

    /// Waits for the app's answer until the load's deadline, or until its session or access ends.
    private func disposition(of challenge: AuthenticationChallenge) async throws(LoadError) -> ChallengeDisposition {
        guard let responder else { return .notImplemented }
        let disposition = try await appsAnswer(until: deadline, under: permission) {
            await responder.respond(to: challenge)
        }
        guard let disposition else {
            throw LoadError(.resourceTimeout, at: .response, "The challenge was not answered in the time for the load.")
        }
        return disposition
    }
}
