public import HTTPTypes
public import SallyportBase
internal import SallyportWire

/// A token that tells an app server who uses the app.
///
/// It is a bearer token, unless it was asked for with a key: whoever reads it can use it until it expires, within five
/// minutes. Send it over TLS only, to the server that it was asked for.
public struct AuthToken: Sendable, Hashable {
    /// The token itself; it never shows in descriptions.
    public let text: Redacted<String>
    /// Unix seconds, by the gateway's clock.
    public let expires: Int64
    /// Whether a server may demand a proof of the instance's key: see ``AuthTokens/proof(method:url:token:)``.
    public let isBound: Bool

    /// `X-Good-GD-AuthToken`, the field that app servers look for it in, as documented.
    public static var fieldName: HTTPField.Name { name(AuthTokenAPI.Field.token) }
    /// `DPoP`, the field of a proof (RFC 9449 §4.1).
    public static var proofFieldName: HTTPField.Name { name(AuthTokenAPI.Field.proof) }

    private static func name(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a name of letters and hyphens.") }
        return name
    }
}

/// Hears of tokens that were asked for by ``AuthTokens/requestToken(challenge:serverName:)``.
public protocol AuthTokenDelegate: AnyObject, Sendable {
    /// `onGDAuthTokenSuccess` of the documents. Called on no particular thread; must not block.
    func authTokens(_ tokens: AuthTokens, didIssue token: AuthToken)
    /// `onGDAuthTokenFailure` of the documents. Called on no particular thread; must not block.
    func authTokens(_ tokens: AuthTokens, didFailWith error: AuthTokenError)
}
