internal import HTTPTypes
package import SallyportCore
package import SallyportWire

extension Authorization {
    /// Asks the gateway for an auth token, and returns any answer.
    ///
    /// - Throws: the gate's refusal, before anything is sent; errors of the exchange.
    package func authToken(for request: AuthTokenAPI.Request) async throws(LoadError) -> ControlAnswer {
        do throws(AccessDenied) { try checkAuthorized() } catch { throw LoadError(error) }
        guard let identity, let gateway = try? identity.endpoint(), let body = try? WireJSON.encode(request) else {
            throw LoadError(
                .internalFailure,
                "The request for a token could not be made: the stored identity of this app cannot be used.")
        }
        var control = ControlRequest(
            method: .post, gateway: gateway, target: AuthTokenAPI.Path.issue, body: body,
            trust: .authorities(identity.trust.authorities), identity: identity.clientIdentity,
            limit: AuthTokenAPI.Limits.answer)
        control.headerFields[.contentType] = ControlAPI.MediaType.json
        control.headerFields[.accept] = ControlAPI.MediaType.json
        return try await exchange(control)
    }
}
