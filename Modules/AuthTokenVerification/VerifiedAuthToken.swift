internal import SallyportWire

/// The contents of an accepted token: verified, and meant for this server.
public struct VerifiedAuthToken: Sendable, Hashable {
    /// The user who runs the app, as the enterprise knows them: the one that the app sent.
    public let user: String
    /// The server name that the app gave when it requested the token; empty if it gave none.
    public let server: String
    /// The challenge that the app put into the token; may be empty.
    public let challenge: String
    /// The entitlement id of the app, as `com.example.report`.
    public let application: String
    /// The installation of the app: a UUID.
    public let instance: String
    /// When the token was issued, in Unix seconds.
    public let issuedAt: Int64
    /// When the token expires, in Unix seconds: at most five minutes after ``issuedAt`` with our gateway.
    public let expires: Int64
    /// The token's unique identifier.
    public let identifier: String
    /// Whether the request carried a valid proof of the token's key. A token without a proof is a bearer token: having
    /// it is all that its use takes.
    public let isProven: Bool

    init(_ claims: AuthTokenClaims, isProven: Bool) {
        user = claims.user
        server = claims.server
        challenge = claims.challenge
        application = claims.entitlement.description
        instance = claims.instance.description
        issuedAt = claims.issuedAt
        expires = claims.expires
        identifier = claims.identifier
        self.isProven = isProven
    }
}

/// What a token must contain; compared byte by byte.
public struct AuthTokenExpectation: Sendable, Hashable {
    /// The user that the app sent beside the token.
    public var user: String
    /// The name of this server, as its apps ask for tokens; empty where they name none.
    public var server: String
    /// The challenge that this server issued; nil if it issued none, or if ``AuthTokenSessions`` checks challenges.
    public var challenge: String?

    /// - Parameters:
    ///   - user: the user that the app sent beside the token.
    ///   - server: the name of this server; empty if apps name none.
    ///   - challenge: the one that this server issued; nil if it issued none.
    public init(user: String, server: String, challenge: String? = nil) {
        self.user = user
        self.server = server
        self.challenge = challenge
    }
}
