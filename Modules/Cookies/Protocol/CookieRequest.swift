internal import SallyportCore

/// What of a request decides on cookies.
struct CookieRequest: Sendable {
    var host: Host
    var path: String
    /// Over TLS end to end. A name such as `localhost` is not trusted without.
    var isSecure: Bool
    /// §5.2: of the site of its main document, or its own main document.
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
