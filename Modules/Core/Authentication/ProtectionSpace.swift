/// The method of an authentication challenge, from a server, a proxy, or the connection to it.
public struct AuthenticationMethod: Sendable, Hashable, CustomStringConvertible {
    /// A scheme's name in lower case (RFC 9110 §16.4), or `server-trust` and `client-certificate`.
    public let name: String

    /// - Parameter name: a scheme's name in either case, also one of an app's own scheme.
    public init(_ name: String) { self.name = name.lowercased() }

    /// The default method: ``basic``.
    public static let `default` = AuthenticationMethod("basic")
    /// RFC 7617.
    public static let basic = AuthenticationMethod("basic")
    /// RFC 7616.
    public static let digest = AuthenticationMethod("digest")
    /// NTLM over HTTP, as in MS-NTHT: it authenticates the connection.
    public static let ntlm = AuthenticationMethod("ntlm")
    /// RFC 4559.
    public static let negotiate = AuthenticationMethod("negotiate")
    /// The server's certificate must be judged.
    public static let serverTrust = AuthenticationMethod("server-trust")
    /// The server asks for the client's certificate.
    public static let clientCertificate = AuthenticationMethod("client-certificate")

    /// The methods that the administrator's policy can name; NTLMv1 and NTLMv2 are separate. Any other scheme is up to
    /// the app, like a header field that the app sets itself.
    package static let administered: Set<AuthenticationMethod> = [
        .basic, .digest, .negotiate, .ntlm, AuthenticationMethod("ntlmv1"),
    ]

    /// Whether the challenge is part of the TLS handshake, and so concerns the connection.
    public var isOfConnection: Bool { self == .serverTrust || self == .clientCertificate }

    public var description: String { name }
}

/// Where one set of credentials holds (RFC 9110 §11.5).
public struct ProtectionSpace: Sendable, Hashable, CustomStringConvertible {
    /// The origin of the challenge.
    public enum Kind: Sendable, Hashable {
        /// The server that the URL names: a 401, or a question of its connection.
        case server
        /// A proxy on the way to the server: a 407.
        case proxy
    }

    /// Who asks: the server, or a proxy.
    public let kind: Kind
    /// Scheme, host and port: like ``RequestURL/origin``, or those of the proxy.
    public let origin: String
    /// The server's name for a part of it; nil if it has none.
    public let realm: String?
    /// The method of the challenge: one server's spaces for two methods are different.
    public let method: AuthenticationMethod

    /// - Parameters:
    ///   - origin: scheme, host and port of the server or the proxy.
    ///   - realm: nil if the challenge names none.
    ///   - method: of the challenge.
    ///   - kind: by default, the server's.
    public init(origin: String, realm: String?, method: AuthenticationMethod, kind: Kind = .server) {
        self.kind = kind
        self.origin = origin
        self.realm = realm
        self.method = method
    }

    public var description: String {
        "\(method) " + (kind == .proxy ? "proxy " : "") + origin + (realm.map { " “\($0)”" } ?? "")
    }
}
