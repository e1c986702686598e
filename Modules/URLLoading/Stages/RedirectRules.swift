internal import HTTPTypes
internal import SallyportCore
internal import SallyportLoading

/// How a redirect changes a request (RFC 9110 §15.4), and which fields it carries: a value.
struct RedirectRules {
    /// The session's scopes; a request's own replace them.
    var scopes = FieldScopes()
    /// Whether the session follows redirects from `https` to `http`; a request's own setting replaces it.
    var allowsInsecure = false
    /// The list of public suffixes; if nil, each host is a site of its own.
    var sites: (any SiteRules)?

    /// The request to which a redirect leads, and the fields that it does not carry.
    struct Hop {
        var request: LoadRequest
        /// The names of the fields that the scopes keep back, in order, each once.
        var withheld: [HTTPField.Name] = []
    }

    static func isRedirect(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// The target of a redirect; nil if the answer is none.
    ///
    /// - Throws: `redirectRefused` for anything but one `http` or `https` URL.
    static func target(of head: HTTPResponse, from url: RequestURL) throws(LoadError) -> RequestURL? {
        guard isRedirect(head.status) else { return nil }
        let locations = Set(head.headerFields[values: .location])
        guard let location = locations.first else { return nil }
        guard locations.count == 1 else { throw refused("The answer names several targets.") }
        let target: RequestURL
        do throws(AddressError) {
            target = try url.resolving(location)
        } catch {
            throw LoadError(.redirectRefused, at: .response, "The target is not a URL.", underlying: error)
        }
        guard target.endpoint != nil else { throw refused("Redirects lead to http and https only.") }
        return target
    }

    /// The request of the next hop. Method and body follow RFC 9110, even for another origin: 307 and 308 send the body
    /// again.
    ///
    /// - Throws: `bodyNotReplayable` if the body must be sent again and can be read only once.
    func hop(
        from request: LoadRequest, to target: RequestURL, status: HTTPResponse.Status
    ) throws(LoadError) -> Hop {
        var next = request
        next.url = target
        next.method = Self.method(request.method, after: status)
        if next.method != request.method {
            next.body = nil
            next.headerFields = HTTPFields(next.headerFields.filter { !FieldScopes.bodyFields.contains($0.name) })
        }
        guard next.body?.isReplayable ?? true else {
            throw LoadError(
                .bodyNotReplayable, at: .response, "The redirect requires the body again, which can be read only once.")
        }
        var hop = Hop(request: next)
        if target.origin != request.url.origin {
            keepBack(in: &hop, comingFrom: request.url) { _ in true }
            hop.request.options.credential = nil
            // Another origin may be reached through another proxy.
            hop.request.options.proxyCredential = nil
        }
        return hop
    }

    /// The request that the app has chosen over the proposed one, without what it would take along unawares: what equals
    /// the proposed or the redirected request's, of which the app has made its own.
    ///
    /// - Throws: `redirectRefused` for anything but an `http` or `https` URL.
    func hop(
        _ chosen: LoadRequest, chosenOver proposed: Hop, after request: LoadRequest
    ) throws(LoadError) -> Hop {
        guard chosen.url.endpoint != nil else { throw Self.refused("Redirects lead to http and https only.") }
        var hop = Hop(request: chosen, withheld: proposed.withheld)
        hop.withheld.removeAll { !chosen.headerFields[values: $0].isEmpty }
        for source in [proposed.request, request] where source.url.origin != chosen.url.origin {
            keepBack(in: &hop, comingFrom: source.url) { name in
                chosen.headerFields[values: name] == source.headerFields[values: name]
            }
            hop.request.options.drop(credentialsOf: source.options)
        }
        return hop
    }

    /// Keeps a request that went over TLS from being sent again without it; that covers fields, body and the URL's
    /// query.
    ///
    /// - Throws: `insecureRedirect` unless the next request, or else the session, allows it.
    func check(_ next: LoadRequest, after request: LoadRequest) throws(LoadError) {
        guard request.url.isSecure, !next.url.isSecure else { return }
        guard next.differing?.options.allowsInsecureRedirects ?? allowsInsecure else {
            throw LoadError(
                .insecureRedirect, at: .response,
                "The server redirects from https to http; allowsInsecureRedirects of request or session follows it.")
        }
    }

    /// Removes the fields whose scope does not reach the request's URL.
    private func keepBack(
        in hop: inout Hop, comingFrom source: RequestURL, where isMeant: (HTTPField.Name) -> Bool
    ) {
        let scopes = hop.request.differing?.options.fieldScopes ?? scopes
        let target = hop.request.url
        hop.request.headerFields = HTTPFields(
            hop.request.headerFields.filter { field in
                guard isMeant(field.name), !scopes.carries(field.name, from: source, to: target, by: sites) else {
                    return true
                }
                if !hop.withheld.contains(field.name) { hop.withheld.append(field.name) }
                return false
            })
    }

    /// 303 asks for a GET; 301 and 302 turn POST into GET, as all clients do (RFC 9110 §15.4.2, §15.4.3).
    private static func method(_ method: HTTPRequest.Method, after status: HTTPResponse.Status) -> HTTPRequest.Method {
        switch status.code {
        case 303: method == .head ? .head : .get
        case 301, 302: method == .post ? .get : method
        default: method
        }
    }

    private static func refused(_ message: String) -> LoadError {
        LoadError(.redirectRefused, at: .response, message)
    }
}

extension LoadOptions {
    fileprivate mutating func drop(credentialsOf source: LoadOptions) {
        if credential == source.credential { credential = nil }
        if proxyCredential == source.proxyCredential { proxyCredential = nil }
    }
}
