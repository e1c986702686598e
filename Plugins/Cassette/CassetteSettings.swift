public import HTTPTypes
public import SallyportBase
internal import SallyportCore

/// What a cassette leaves out, what it compares, and its limits. Replaying needs the settings of the recording.
public struct CassetteSettings: Sendable {
    /// The message whose body is redacted.
    public enum Side: Sendable, Hashable {
        /// The body that is sent.
        case request
        /// The body of the answer.
        case response
    }

    /// Fields that are never recorded, in addition to ``alwaysSecretFields``.
    public var secretFields: Set<HTTPField.Name> = []
    /// Query parameters whose values are never recorded, in requests, redirects and final URLs. Case is ignored.
    public var secretParameters: Set<String> = [
        "access_token", "id_token", "refresh_token", "token", "api_key", "apikey", "client_secret", "password",
        "secret",
        "signature",
    ]
    /// Request fields that are recorded, and must be equal in a request that is replayed. A secret field is neither
    /// recorded nor compared.
    public var matchedFields: Set<HTTPField.Name> = []
    /// Whether the bodies of requests are recorded. If not, only their SHA-256 is recorded and compared; a short secret
    /// can be guessed from it, so remove secrets with ``redact``.
    public var recordsRequestBodies = false
    /// Removes secrets from a body before it is recorded, and before a request's body is compared. While recording, the
    /// app gets the unchanged answer. Called for one whole body, once or more often.
    public var redact: @Sendable (Side, [UInt8]) -> [UInt8] = { _, body in body }
    /// The longest body. The load of a longer one fails while it is recorded.
    public var bodyLimit: ByteCount = .mebibytes(4)
    /// The longest file.
    public var fileLimit: ByteCount = .mebibytes(64)
    /// The most exchanges that are recorded. A load that fails does not count.
    public var exchangeLimit = 1000

    /// The default settings, as each property states them.
    public init() {}

    /// Fields with credentials, in requests and answers: never recorded.
    public static let alwaysSecretFields: Set<HTTPField.Name> = {
        let names = [
            "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Good-GD-AuthToken", "WWW-Authenticate",
            "Proxy-Authenticate", "Authentication-Info", "Proxy-Authentication-Info", "DPoP",
        ]
        return Set(names.compactMap { HTTPField.Name($0) })
    }()
}
