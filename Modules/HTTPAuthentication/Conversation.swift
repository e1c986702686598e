internal import HTTPTypes
internal import SallyportCore

/// What became of one request.
enum Attempt {
    case answered(LoadResponse)
    /// The proxy asked before the server had anything: its answer to CONNECT, and the failure that it is.
    case refused(HTTPResponse, LoadError)

    init(
        _ request: LoadRequest, in context: LoadContext, _ next: LoadChain
    ) async throws(LoadError) {
        do throws(LoadError) {
            self = .answered(try await next.load(request, in: context))
        } catch {
            guard error.code == .proxyAuthenticationRequired, let challenge = error.underlying as? ProxyChallenge else {
                throw error
            }
            self = .refused(challenge.head, error)
        }
    }

    /// What the load's answer is where nobody answers.
    func result() throws(LoadError) -> LoadResponse {
        switch self {
        case .answered(let response): return response
        case .refused(_, let error): throw error
        }
    }
}

/// One load's negotiations: with the server, unless the app speaks for itself, and with the proxy where there is one.
struct Conversation {
    private let original: LoadRequest
    private let proxy: Proxy?
    private var withServer: Negotiation?
    private var withProxy: Negotiation?
    private var request: LoadRequest

    init(_ request: LoadRequest, in context: LoadContext, by stage: AuthenticationStage) {
        original = request
        self.request = request
        // SOCKS has no challenges: what it is told it is told at once.
        let proxy = context.proxies.proxy(for: request.url).flatMap { $0.kind == .socks5 ? nil : $0 }
        self.proxy = proxy
        func negotiation(with challenger: Challenger) -> Negotiation {
            Negotiation(
                with: challenger, request, in: context, credentials: stage.credentials, schemes: stage.schemes)
        }
        if request.headerFields[.authorization] == nil { withServer = negotiation(with: .server(of: request)) }
        if let proxy, request.headerFields[.proxyAuthorization] == nil {
            withProxy = negotiation(with: .proxy(proxy, for: request))
        }
    }

    /// The request as it is sent unasked.
    mutating func first() throws(LoadError) -> LoadRequest {
        if let field = try withServer?.first() { request.headerFields[.authorization] = field.reveal() }
        if let field = try withProxy?.first() { request.headerFields[.proxyAuthorization] = field.reveal() }
        return request
    }

    /// The next request and what it answers; nil where the attempt is the load's answer.
    mutating func answer(
        to attempt: Attempt
    ) async throws(LoadError) -> (request: LoadRequest, space: ProtectionSpace)? {
        switch attempt {
        case .refused(let head, _):
            return try await answerProxy(head, isSent: false)
        case .answered(let response) where isOfProxy(response):
            return try await answerProxy(response.head, isSent: true)
        case .answered(let response):
            withProxy?.succeeded()
            guard response.head.status == .unauthorized else {
                withServer?.succeeded()
                return nil
            }
            guard let answer = try await withServer?.answer(to: response.head, isSent: true) else { return nil }
            if let field = try withServer?.authorization(answer) {
                request.headerFields[.authorization] = field.reveal()
            }
            return (request, answer.space)
        }
    }

    private mutating func answerProxy(
        _ head: HTTPResponse, isSent: Bool
    ) async throws(LoadError) -> (request: LoadRequest, space: ProtectionSpace)? {
        guard let answer = try await withProxy?.answer(to: head, isSent: isSent) else { return nil }
        if let field = try withProxy?.authorization(answer) {
            request.headerFields[.proxyAuthorization] = field.reveal()
        }
        return (request, answer.space)
    }

    /// A 407 is the proxy's only where the proxy has seen the request: through a tunnel, and without a proxy, it is a
    /// server that has no business to ask.
    private func isOfProxy(_ response: LoadResponse) -> Bool {
        guard let proxy, response.head.status == .proxyAuthenticationRequired, !original.url.isSecure else {
            return false
        }
        return response.facts.hops.last?.connection.proxy == "\(proxy)"
    }
}
