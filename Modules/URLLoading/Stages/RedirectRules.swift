internal import HTTPTypes
internal import SallyportCore

/// What a redirect means (RFC 9110 §15.4): values only.
enum RedirectRules {
    /// Fields that speak of credentials for one origin; auth tokens and their proofs are such.
    private static let credentialFields: Set<HTTPField.Name> = Set(
        [.authorization, .cookie, .proxyAuthorization]
            + ["X-Good-GD-AuthToken", "DPoP"].compactMap { HTTPField.Name($0) })

    /// Fields that describe a body, dropped where the new request has none (RFC 9110 §15.4, Fetch §4.4).
    private static let bodyFields: Set<HTTPField.Name> = [
        .contentType, .contentLength, .contentEncoding, .contentLanguage, .contentLocation, .transferEncoding, .expect,
        .trailer,
    ]

    static func isRedirect(_ status: HTTPResponse.Status) -> Bool {
        switch status.code {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// The target of a redirect; nil where the answer is none.
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

    /// The request of the next hop.
    ///
    /// - Throws: `bodyNotReplayable` where the body must be sent again and can be read once only.
    static func request(
        _ request: LoadRequest, redirectedTo target: RequestURL, status: HTTPResponse.Status
    ) throws(LoadError) -> LoadRequest {
        var next = request
        next.url = target
        next.method = method(request.method, after: status)
        if next.method != request.method {
            next.body = nil
            next.headerFields.drop(bodyFields)
        }
        guard next.body?.isReplayable ?? true else {
            throw LoadError(
                .bodyNotReplayable, at: .response, "The redirect wants the body again, which can be read once only.")
        }
        if target.origin != request.url.origin {
            next.headerFields.drop(credentialFields.union(request.options.originBoundFields))
            next.options.credential = nil
        }
        return next
    }

    /// The request that the app has chosen over the proposed one, without what it would take along unawares.
    ///
    /// - Throws: `redirectRefused` for anything but an `http` or `https` URL.
    static func request(
        _ chosen: LoadRequest, chosenOver proposed: LoadRequest
    ) throws(LoadError) -> LoadRequest {
        guard chosen.url.endpoint != nil else { throw refused("Redirects lead to http and https only.") }
        guard chosen.url.origin != proposed.url.origin else { return chosen }
        var next = chosen
        let bound = credentialFields.union(proposed.options.originBoundFields).union(chosen.options.originBoundFields)
        next.headerFields.drop(bound.filter { chosen.headerFields[values: $0] == proposed.headerFields[values: $0] })
        let isOwn = chosen.options.credential != proposed.options.credential
        next.options.credential = isOwn ? chosen.options.credential : nil
        return next
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

extension HTTPFields {
    fileprivate mutating func drop(_ names: Set<HTTPField.Name>) {
        self = HTTPFields(filter { !names.contains($0.name) })
    }
}

/// The requests of one load so far, to find one that is made again.
struct RedirectTrail {
    private struct Step: Hashable {
        let method: HTTPRequest.Method
        let url: String
        let fields: HTTPFields
        let hasBody: Bool

        /// The fragment is never sent, and makes no difference.
        init(_ request: LoadRequest) {
            method = request.method
            url = request.url.absoluteText
            fields = request.headerFields
            hasBody = request.body != nil
        }
    }

    private var steps: Set<Step> = []

    /// A request was answered. What sets a cookie may answer the same request otherwise the next time.
    mutating func add(_ request: LoadRequest, _ answer: LoadResponse) {
        if answer.fieldsSentNow[.setCookie] != nil { steps = [] } else { steps.insert(Step(request)) }
    }

    func has(_ request: LoadRequest) -> Bool { steps.contains(Step(request)) }
}
