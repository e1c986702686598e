internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// The sender of challenges: the server of a URL, or the proxy on the way to it.
struct Challenger {
    let kind: ProtectionSpace.Kind
    /// The origin as protection spaces name it.
    let origin: String
    /// The credential that is used if the app gives no other.
    let credential: Credential?
    /// Whether the connection to it is encrypted.
    let isEncrypted: Bool

    static func server(of request: LoadRequest) -> Challenger {
        Challenger(
            kind: .server, origin: request.url.origin, credential: request.options.credential,
            isEncrypted: request.url.isSecure)
    }

    static func proxy(_ proxy: Proxy, for request: LoadRequest) -> Challenger {
        Challenger(
            kind: .proxy, origin: "\(proxy)", credential: request.options.proxyCredential ?? proxy.credential,
            isEncrypted: proxy.isEncrypted)
    }

    /// The header field that contains its challenges.
    var challengeField: HTTPField.Name { kind == .proxy ? .proxyAuthenticate : .wwwAuthenticate }
}
