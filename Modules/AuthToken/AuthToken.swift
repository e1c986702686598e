public import HTTPTypes
public import SallyportBase
internal import SallyportWire

/// A token by which an app server knows which user runs the app.
///
/// It is a bearer token unless it was requested with a key: anyone who reads it can use it until it expires, at most
/// five minutes later. Send it over TLS only, to the server for which it was requested.
public struct AuthToken: Sendable, Hashable {
    /// The token itself; it never shows in descriptions.
    public let text: Redacted<String>
    /// The time at which it expires, in Unix seconds by the gateway's clock.
    public let expires: Int64
    /// Whether the token is bound to the instance's key, so that a server may demand a proof of that key: see
    /// ``AuthTokens/proof(method:url:token:)``.
    public let isBound: Bool

    /// `X-Good-GD-AuthToken`, the header field in which app servers expect the token.
    public static var fieldName: HTTPField.Name { name(AuthTokenAPI.Field.token) }
    /// `DPoP`, the field of a proof (RFC 9449 §4.1).
    public static var proofFieldName: HTTPField.Name { name(AuthTokenAPI.Field.proof) }

    private static func name(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a name of letters and hyphens.") }
        return name
    }
}

/// Receives the results of ``AuthTokens/requestToken(challenge:serverName:)``.
public protocol AuthTokenDelegate: AnyObject, Sendable {
    /// A token was issued. Called on no particular thread; must not block.
    func authTokens(_ tokens: AuthTokens, didIssue token: AuthToken)
    /// The request failed. Called on no particular thread; must not block.
    func authTokens(_ tokens: AuthTokens, didFailWith error: AuthTokenError)
}
