internal import SallyportCore

/// The properties of a request that decide on its cookies.
struct CookieRequest: Sendable {
    var host: Host
    var path: String
    /// TLS end to end. A name such as `localhost` is not trusted without TLS.
    var isSecure: Bool
    /// §5.2: same site as its main document, or a main document itself.
    var isSameSite: Bool

    /// Nil for a URL without a host.
    init?(_ url: RequestURL, mainDocument: RequestURL? = nil) {
        guard let host = url.endpoint?.host else { return nil }
        self.host = host
        path = url.path
        isSecure = url.isSecure
        isSameSite = mainDocument.map { Site.isSame(url, $0) } ?? true
    }
}
