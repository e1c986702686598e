public import HTTPTypes
public import SallyportBase
internal import SallyportCore

/// What a cassette leaves out, what it compares, and how much it holds. Replay needs the settings of the recording.
public struct CassetteSettings: Sendable {
    /// Whose body is redacted.
    public enum Side: Sendable, Hashable {
        case request
        case response
    }

    /// Fields that are never recorded, besides ``alwaysSecretFields``.
    public var secretFields: Set<HTTPField.Name> = []
    /// Parameters of a query whose values are never recorded; of requests, of redirects and of final URLs. Upper and
    /// lower case are the same.
    public var secretParameters: Set<String> = [
        "access_token", "id_token", "refresh_token", "token", "api_key", "apikey", "client_secret", "password",
        "secret",
        "signature",
    ]
    /// Fields of requests that are recorded, and must be the same for a request to be the recorded one. A secret field is
    /// neither.
    public var matchedFields: Set<HTTPField.Name> = []
    /// Whether the bodies of requests are recorded. Where not, their SHA-256 is, by which they are compared; of a short
    /// secret that can be guessed, so leave secrets out with ``redact``.
    public var recordsRequestBodies = false
    /// Leaves secrets out of a body before it is recorded, and before that of a request is compared. The app gets the
    /// answer as it came, while it is recorded. Called for one whole body, once or more often.
    public var redact: @Sendable (Side, [UInt8]) -> [UInt8] = { _, body in body }
    /// The longest body. The load of a longer one fails while it is recorded.
    public var bodyLimit: ByteCount = .megabytes(4)
    /// The longest file.
    public var fileLimit: ByteCount = .megabytes(64)
    /// The most exchanges.
    public var exchangeLimit = 1000

    public init() {}

    /// Fields that hold credentials, in requests and answers: never recorded.
    public static let alwaysSecretFields: Set<HTTPField.Name> = {
        let names = [
            "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Good-GD-AuthToken", "WWW-Authenticate",
            "Proxy-Authenticate", "Authentication-Info", "Proxy-Authentication-Info", "DPoP",
        ]
        return Set(names.compactMap { HTTPField.Name($0) })
    }()
}
