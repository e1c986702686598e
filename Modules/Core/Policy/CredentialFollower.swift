/// What keeps more of a user than the credential, such as tickets, cookies and answers: told when an app clears credentials.
public protocol CredentialFollower: Sendable {
    /// Forgets what belongs to the credentials; on return, in memory and in the store.
    ///
    /// - Parameters:
    ///   - method: the method whose credentials were cleared, whether there were any or not; all methods if nil.
    ///   - places: the servers that had accepted one of them, and in whose name.
    func credentialsCleared(for method: AuthenticationMethod?, at places: [CredentialPlace]) async
}

/// A server that had accepted a credential, and the principal whose credential it was.
public struct CredentialPlace: Sendable, Hashable {
    /// The one that the requests were made for.
    public let principal: Principal
    /// Scheme, host and port.
    public let origin: String

    public init(principal: Principal, origin: String) {
        self.principal = principal
        self.origin = origin
    }
}
