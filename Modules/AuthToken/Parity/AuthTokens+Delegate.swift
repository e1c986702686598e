extension AuthTokens {
    /// The delegate that receives the tokens of ``requestToken(challenge:serverName:)``; held weakly.
    public var delegate: (any AuthTokenDelegate)? { heldDelegate }

    /// Sets the delegate; nil removes it.
    public func setDelegate(_ delegate: (any AuthTokenDelegate)?) { heldDelegate = delegate }

    /// Requests a token and returns at once; the delegate is called once with the result. Cancelling the calling task
    /// does not cancel the request.
    ///
    /// - Throws: `noDelegate` if there is no delegate, and the errors that are known without asking the gateway:
    ///   `notAuthorized`, `withdrawn`, `invalidChallenge`, `invalidServerName`. In these cases nothing is sent and the
    ///   delegate is not called.
    public func requestToken(challenge: String, serverName: String) throws(AuthTokenError) {
        guard let delegate = heldDelegate else {
            throw AuthTokenError(.noDelegate, "Set a delegate first: it gets the token.")
        }
        try check(challenge, serverName)
        guard !isShutDown, requests.count < Self.maximumRequests else {
            throw AuthTokenError(.retry, "Too many requests are under way, or all is shut down.")
        }
        lastRequest += 1
        let number = lastRequest
        // An unstructured task, because the call returns at once. See Docs/Concurrency.md.
        requests[number] = Task { [weak delegate] in
            let result = await self.result(challenge, serverName)
            await self.tell(delegate, of: result)
            self.requests[number] = nil
        }
    }

    /// Runs outside the actor, since a delegate may take long.
    @concurrent private nonisolated func tell(
        _ delegate: (any AuthTokenDelegate)?, of result: Result<AuthToken, AuthTokenError>
    ) async {
        switch result {
        case .success(let token): delegate?.authTokens(self, didIssue: token)
        case .failure(let error): delegate?.authTokens(self, didFailWith: error)
        }
    }

    @concurrent private nonisolated func result(
        _ challenge: String, _ serverName: String
    ) async -> Result<AuthToken, AuthTokenError> {
        do throws(AuthTokenError) {
            return .success(try await token(challenge: challenge, serverName: serverName))
        } catch {
            return .failure(error)
        }
    }
}
