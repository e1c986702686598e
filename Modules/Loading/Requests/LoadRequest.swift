public import HTTPTypes
internal import SallyportBase
public import SallyportCore

/// A request on its way through a session: what is loaded, and how.
public struct LoadRequest: Sendable {
    /// What is requested. Its fragment is never sent. The request's description, logs and records leave its query out.
    public var url: RequestURL
    /// The method; an extension method is passed on as it is.
    public var method: HTTPRequest.Method
    /// The app's own fields. A field that is set here takes precedence over the session's `additionalHeaders` of the
    /// same name.
    public var headerFields: HTTPFields
    /// The bytes to send; nil for none.
    public var body: RequestBody?
    /// The settings that differ from the session's. Most requests have none, and stay small on their way through the
    /// stages.
    public var options: LoadOptions {
        get { differing?.options ?? LoadOptions() }
        set { differing = Differing(newValue) }
    }

    /// The options if there are any; used by code that runs for each request.
    package private(set) var differing: Differing?

    /// Whether the `Cookie` field comes from the session's jar; otherwise the app has set it, or a stage of its own.
    package var hasJarCookies = false

    package final class Differing: Sendable {
        package let options: LoadOptions
        init(_ options: LoadOptions) { self.options = options }
    }

    /// - Parameters:
    ///   - method: `GET` by default.
    ///   - url: what is requested.
    ///   - headerFields: the app's own fields.
    ///   - body: the bytes to send; nil for none.
    ///   - options: the settings that differ from the session's; nil for none.
    public init(
        _ method: HTTPRequest.Method = .get, _ url: RequestURL, headerFields: HTTPFields = HTTPFields(),
        body: RequestBody? = nil, options: LoadOptions? = nil
    ) {
        self.url = url
        self.method = method
        self.headerFields = headerFields
        self.body = body
        differing = options.map(Differing.init)
    }

    /// Converts a request of swift-http-types.
    ///
    /// - Throws: `invalidRequest`, with the `AddressError` as the underlying error, if scheme, authority and path
    ///   form no URL, or if one of them would extend into the next: the path `.evil.example` cannot change the host.
    public init(_ request: HTTPRequest, body: RequestBody? = nil) throws(LoadError) {
        url = try LoadError.invalidURL { () throws(AddressError) in try RequestURL(parts: request) }
        method = request.method
        headerFields = request.headerFields
        self.body = body
    }

    /// A `GET` of the URL.
    ///
    /// - Throws: `invalidRequest`, with the `AddressError` as the underlying error, if the text is not a URL.
    public static func get(_ url: String, headerFields: HTTPFields = HTTPFields()) throws(LoadError) -> LoadRequest {
        let url = try LoadError.invalidURL { () throws(AddressError) in try RequestURL(url) }
        return LoadRequest(.get, url, headerFields: headerFields)
    }

    /// Converts to a request of swift-http-types.
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
    /// Method and URL, without the query, the values of header fields and the body, which may be secret.
    public var description: String { "\(method) \(url.redacted)" }
    public var debugDescription: String { "LoadRequest(\(description), \(headerFields.count) fields)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The options of one request, where they differ from its session's settings.
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
    /// The principal of the request; the session's if nil.
    public var principal: Principal?
    /// Whether a load that finds no connection waits for one instead of failing; the session's (no) if nil.
    public var waitsForConnectivity: Bool?
    /// How long a body waits for the server's `100 Continue` (RFC 9110 §10.1.1) before it is sent anyway; many servers
    /// never send it over HTTP/2, so that the whole time passes. Nil sends the body at once. If a server answers 417,
    /// the request is sent again without `Expect`. A request without content waits for nothing.
    public var continueTimeout: Duration?
    /// Whether Basic may send a password over plain `http`, to a server or a proxy; if nil, the session's setting
    /// (false by default) applies.
    public var allowsBasicOverPlainHTTP: Bool?
    /// The credential for the first challenge of the request's origin, if the delegate gives none; a redirect to
    /// another origin drops it.
    public var credential: Credential?
    /// The credential for the first challenge of the proxy on the way, if the delegate gives none; it is sent to a
    /// SOCKS proxy at once. Replaces the credential of `Proxy`; a redirect to another origin drops it.
    public var proxyCredential: Credential?
    /// Whether the jar's cookies are sent and the answer's cookies stored; the session's setting if nil.
    public var handlesCookies: Bool?
    /// The document to which the request belongs, for ``CookieAcceptPolicy/onlyFromMainDocument`` and `SameSite` (RFC
    /// 6265bis §5.2); the request itself if nil.
    public var mainDocument: RequestURL?
    /// How the load uses the cache; the session's setting if nil.
    public var cachePolicy: CachePolicy?
    /// Whether ``LoadAnswer/record`` describes how the load went. A session with a delegate, and one whose metrics or
    /// traces are collected, always records each load.
    public var isRecorded = false

    /// Options that change nothing.
    public init() {}
}
