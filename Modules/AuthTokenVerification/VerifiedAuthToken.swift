internal import SallyportWire

/// What an accepted token says: true, and meant for this server.
public struct VerifiedAuthToken: Sendable, Hashable {
    /// Who uses the app, as the enterprise knows them: the user that the app sent.
    public let user: String
    /// What the app named when it asked for the token; empty where it named nothing.
    public let server: String
    /// What the app was given to put into the token; may be empty.
    public let challenge: String
    /// The entitlement id of the app, as `com.example.report`.
    public let application: String
    /// The installation of the app: a UUID.
    public let instance: String
    /// Unix seconds.
    public let issuedAt: Int64
    /// Unix seconds; at most five minutes after ``issuedAt`` by our gateway.
    public let expires: Int64
    /// Of no other token.
    public let identifier: String
    /// Whether a proof of the token's key was there and holds. A token without is a bearer token: whoever has it, is it.
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

/// What a token must say, compared byte by byte.
public struct AuthTokenExpectation: Sendable, Hashable {
    /// The user that the app sent beside the token.
    public var user: String
    /// The name of this server, as its apps ask for tokens; empty where they name none.
    public var server: String
    /// The challenge that this server gave; nil where it gave none, or where ``AuthTokenSessions`` look after it.
    public var challenge: String?

    public init(user: String, server: String, challenge: String? = nil) {
        self.user = user
        self.server = server
        self.challenge = challenge
    }
}

/// Comparison that takes as long for what differs early as for what differs late.
enum ConstantTime {
    /// Of UTF-8 bytes, so that two spellings of one character are two texts. Lengths may show.
    static func areEqual(_ one: String, _ other: String) -> Bool {
        guard one.utf8.count == other.utf8.count else { return false }
        return zip(one.utf8, other.utf8).reduce(into: UInt8(0)) { $0 |= $1.0 ^ $1.1 } == 0
    }
}
