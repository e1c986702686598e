/// A part that stores user data besides the credential, such as tickets, cookies or answers: called when an app clears
/// credentials.
public protocol CredentialFollower: Sendable {
    /// Removes the data that belongs to the credentials, from memory and from the store, before it returns.
    ///
    /// - Parameters:
    ///   - method: the method whose credentials were cleared, even if there were none; nil for all methods.
    ///   - places: the servers that had accepted one of them, with the principals.
    /// - Throws: if some of the data is still in the store; the next clearing then names these servers again.
    func credentialsCleared(for method: AuthenticationMethod?, at places: [CredentialPlace]) async throws
}

/// A server that had accepted a credential, and the principal whose credential it was.
public struct CredentialPlace: Sendable, Hashable {
    /// The principal of the requests.
    public let principal: Principal
    /// Scheme, host and port.
    public let origin: String

    public init(principal: Principal, origin: String) {
        self.principal = principal
        self.origin = origin
    }
}
