internal import SallyportAuthorization
internal import SallyportCore
internal import SallyportWire

/// Who gives tokens: the gateway, by the instance's own connection; tests bring their own.
protocol TokenSource: Sendable {
    /// Whose tokens they are; nil before there is a configuration.
    var instance: String? { get }
    func token(for request: AuthTokenAPI.Request) async throws(LoadError) -> TokenAnswer
}

/// The gateway's answer, whatever it is.
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
