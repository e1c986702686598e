internal import SallyportAuthorization
internal import SallyportCore
internal import SallyportWire

/// Issues tokens: the gateway, over the instance's own connection, or a substitute in tests.
protocol TokenSource: Sendable {
    /// The instance for which tokens are issued; nil before there is a configuration.
    var instance: String? { get }
    func token(for request: AuthTokenAPI.Request) async throws(LoadError) -> TokenAnswer
}

/// The gateway's answer, with any status.
struct TokenAnswer: Sendable {
    var status: Int
    var body: [UInt8]
}

extension Authorization: TokenSource {
    nonisolated var instance: String? { configuration.application?.instanceIdentifier }

    func token(for request: AuthTokenAPI.Request) async throws(LoadError) -> TokenAnswer {
        let answer = try await authToken(for: request)
        return TokenAnswer(status: answer.status, body: answer.body)
    }
}
