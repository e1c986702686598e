public import HTTPTypes
internal import SallyportBase
public import SallyportCore

/// One request as it walks through a session: what to load, and how.
public struct LoadRequest: Sendable {
    public var url: RequestURL
    public var method: HTTPRequest.Method
    public var headerFields: HTTPFields
    public var body: RequestBody?
    /// Where the request differs from its session. Most do not, and stay small on their way through the stages.
    public var options: LoadOptions {
        get { differing?.options ?? LoadOptions() }
        set { differing = Differing(newValue) }
    }

    /// The options where there are any: what stands on the path of each request looks here.
    package private(set) var differing: Differing?

    package final class Differing: Sendable {
        package let options: LoadOptions
        init(_ options: LoadOptions) { self.options = options }
    }

    public init(
        _ method: HTTPRequest.Method = .get, _ url: RequestURL, headerFields: HTTPFields = [:],
        body: RequestBody? = nil, options: LoadOptions? = nil
    ) {
        self.url = url
        self.method = method
        self.headerFields = headerFields
        self.body = body
        differing = options.map(Differing.init)
    }

    /// Reads a request of swift-http-types.
    ///
    /// - Throws: `invalidRequest` if scheme, authority and path make no URL, or if one of them reaches into the next: the
    ///   path `.evil.example` names no other host. The ``AddressError`` is below it.
    public init(_ request: HTTPRequest, body: RequestBody? = nil) throws(LoadError) {
        url = try LoadError.invalidURL { () throws(AddressError) in try RequestURL(parts: request) }
        method = request.method
        headerFields = request.headerFields
        self.body = body
    }

    /// A `GET` of the URL.
    ///
    /// - Throws: `invalidRequest` for a text that is no URL, with the ``AddressError`` below it.
    public static func get(_ url: String, headerFields: HTTPFields = [:]) throws(LoadError) -> LoadRequest {
        let url = try LoadError.invalidURL { () throws(AddressError) in try RequestURL(url) }
        return LoadRequest(.get, url, headerFields: headerFields)
    }

    /// The request in the terms of swift-http-types.
    public var httpRequest: HTTPRequest {
        HTTPRequest(
            method: method, scheme: url.scheme, authority: url.hostField, path: url.target, headerFields: headerFields)
    }
}

extension RequestURL {
    fileprivate init(parts request: HTTPRequest) throws(AddressError) {
        guard let scheme = request.scheme, let authority = request.authority else {
            throw AddressError(.noHost, "The request names no scheme or no authority.")
        }
        let path = request.path ?? "/"
        guard path.utf8.first == UInt8(ascii: "/"), !scheme.utf8.contains(UInt8(ascii: ":")),
            !authority.utf8.contains(where: { "/?#@\\".utf8.contains($0) })
        else { throw AddressError(.invalidURL, "Scheme, authority and path do not make a URL.") }
        try self.init("\(scheme)://\(authority)\(path)")
    }
}

extension LoadError {
    fileprivate static func invalidURL(_ url: () throws(AddressError) -> RequestURL) throws(LoadError) -> RequestURL {
        do throws(AddressError) {
            return try url()
        } catch {
            throw LoadError(.invalidRequest, "The URL is not valid: \(error.message)", underlying: error)
        }
    }
}

extension LoadRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method and URL, without its query, the values of header fields and the body, which may be secret.
    public var description: String { "\(method) \(url.redacted)" }
    public var debugDescription: String { "LoadRequest(\(description), \(headerFields.count) fields)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// How one request is loaded, where it differs from its session.
public struct LoadOptions: Sendable {
    /// The longest time without a byte in either direction; the session's (60 s) if nil.
    public var idleTimeout: Duration?
    /// The longest time for the whole load; the session's (7 days) if nil.
    public var resourceTimeout: Duration?
    /// Whether redirects are followed; the session's (yes) if nil.
    public var followsRedirects: Bool?
    /// Whether a redirect may lead from `https` to `http`, which anyone on the network path can read; if nil, the
    /// session's setting (false by default) applies. If false, such a redirect ends the load with `insecureRedirect`.
    public var allowsInsecureRedirects: Bool?
    /// To which servers redirects carry the fields that the app has set; if nil, the session's setting applies. These
    /// scopes replace the session's and are not merged with them.
    public var fieldScopes: FieldScopes?
    /// In whose name the request is made; the session's if nil.
    public var principal: Principal?
    /// Whether a load that finds no connection waits for one instead of failing; the session's (no) if nil.
    public var waitsForConnectivity: Bool?
    /// How long a body waits for the server's `100 Continue` (RFC 9110 §10.1.1) before it is sent unasked: all of that
    /// time where the server never says so, as many do over HTTP/2. Nil sends it at once. A server that answers 417 gets
    /// the request again without the question.
    public var continueTimeout: Duration?
    /// Whether Basic may send a password over plain `http`, to a server or a proxy; if nil, the session's setting
    /// (false by default) applies.
    public var allowsBasicOverPlainHTTP: Bool?
    /// The credential for the first challenge of the request's origin, if the delegate gives none; a redirect to
    /// another origin drops it.
    public var credential: Credential?
    /// The credential for the first challenge of the proxy on the way, if the delegate gives none; a SOCKS proxy is
    /// sent it at once. In place of the credential of ``Proxy``.
    public var proxyCredential: Credential?
    /// Whether the jar's cookies are sent and those of the answer kept; the session's choice if nil.
    public var handlesCookies: Bool?
    /// The document that the request is part of, for ``CookieAcceptPolicy/onlyFromMainDocument`` and `SameSite`
    /// (RFC 6265bis §5.2); the request itself if nil.
    public var mainDocument: RequestURL?
    /// How the load uses the cache; the session's choice if nil.
    public var cachePolicy: CachePolicy?
    /// Whether ``LoadResponse/record`` says how the load went. A session with a delegate, and one whose metrics or
    /// traces are collected, records each load anyway.
    public var isRecorded = false

    public init() {}
}
