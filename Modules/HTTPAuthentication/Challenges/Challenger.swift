internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// Who asks: the server of a URL, or the proxy on the way to it.
struct Challenger {
    let kind: ProtectionSpace.Kind
    /// As protection spaces have it.
    let origin: String
    /// What answers it, where nobody else does.
    let credential: Credential?
    /// Whether nobody else reads what is said to it.
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

    /// The field that asks.
    var challengeField: HTTPField.Name { kind == .proxy ? .proxyAuthenticate : .wwwAuthenticate }
}
