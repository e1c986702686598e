internal import HTTPTypes
internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// The result of sending a request.
enum Attempt {
    case answered(LoadResponse)
    /// The proxy sent a challenge before the server had received anything: its answer to CONNECT, and the failure.
    case refused(HTTPResponse, LoadError)
    /// The required connection is gone, and another can be made.
    case lost(LoadError)

    init(
        _ request: LoadRequest, in context: LoadContext, _ next: LoadChain
    ) async throws(LoadError) {
        do throws(LoadError) {
            self = .answered(try await next.load(request, in: context))
        } catch {
            if error.underlying is BoundConnectionLost {
                self = .lost(error)
                return
            }
            guard error.code == .proxyAuthenticationRequired, let challenge = error.underlying as? ProxyChallenge else {
                throw error
            }
            self = .refused(challenge.head, error)
        }
    }
}

/// What follows an attempt.
enum NextStep {
    /// Another request, which answers a challenge of the space.
    case again(LoadRequest, ProtectionSpace)
    case result(LoadResponse)
}

/// One load's negotiators: with the server, unless the request has its own `Authorization`, and with the proxy if there
/// is one.
struct Conversation {
    private let original: LoadRequest
    private let proxy: Proxy?
    private var withServer: Negotiator?
    private var withProxy: Negotiator?
    private var request: LoadRequest

    init(_ request: LoadRequest, in context: LoadContext, by stage: AuthenticationStage) {
        original = request
        self.request = request
        // SOCKS has no challenges: its credential is sent at once.
        let proxy = context.proxies.proxy(for: request.url).flatMap { $0.kind == .socks5 ? nil : $0 }
        self.proxy = proxy
        func negotiator(with challenger: Challenger) -> Negotiator {
            Negotiator(
                with: challenger, request, isForwarded: proxy != nil && !request.url.isSecure, in: context, by: stage)
        }
        if request.headerFields[.authorization] == nil { withServer = negotiator(with: .server(of: request)) }
        if let proxy, request.headerFields[.proxyAuthorization] == nil {
            withProxy = negotiator(with: .proxy(proxy, for: request))
        }
    }

    /// The first request, before any challenge.
    mutating func first() async throws(LoadError) -> LoadRequest {
        if let field = try await withServer?.first() { request.headerFields[.authorization] = field.reveal() }
        if let field = try await withProxy?.first() { request.headerFields[.proxyAuthorization] = field.reveal() }
        return outgoing
    }

    /// Without its body if the server must first say whether it accepts it.
    private var outgoing: LoadRequest {
        guard withServer?.isBodyless == true else { return request }
        var request = request
        request.body = nil
        request.headerFields[.expect] = nil
        return request
    }

    /// The user's own connection for the next request, if it needs one.
    var connection: ConnectionUse? { withServer?.connection }

    /// The space in which Basic was not answered because the connection is not encrypted, and the field that was not
    /// sent.
    var withheld: (space: ProtectionSpace, field: HTTPField.Name)? {
        let found = withServer?.withheld ?? withProxy?.withheld
        return found.map { ($0, $0.kind == .proxy ? .proxyAuthorization : .authorization) }
    }

    /// The proofs that are made when the request is sent.
    var signer: RequestSignatures? {
        RequestSignatures(
            server: withServer?.proof, proxy: withProxy?.proof,
            isForwarded: proxy != nil && !original.url.isSecure)
    }

    mutating func next(after attempt: Attempt) async throws(LoadError) -> NextStep {
        switch attempt {
        case .refused(let head, let error):
            guard let reply = try await withProxy?.reply(to: head, isSent: false) else {
                throw withProxy?.withheld == nil ? error : Self.plainBasic(error)
            }
            return answerProxy(reply)
        case .lost(let error):
            guard let reply = try await withServer?.replyAfterLoss() else { throw error }
            return answerServer(reply)
        case .answered(let response) where isOfProxy(response):
            guard let reply = try await withProxy?.reply(to: response.head, isSent: true) else {
                return .result(response)
            }
            return answerProxy(reply)
        case .answered(let response):
            await withProxy?.succeeded()
            withServer?.heard(response)
            guard response.head.status == .unauthorized else { return await accepted(response) }
            guard let reply = try await withServer?.reply(to: response.head, isSent: true) else {
                return .result(response)
            }
            return answerServer(reply)
        }
    }

    private static func plainBasic(_ error: LoadError) -> LoadError {
        LoadError(
            error.code, at: error.step,
            "The proxy asks for Basic over plain http, which exposes the password; allowsBasicOverPlainHTTP sends it.",
            underlying: error)
    }

    private mutating func accepted(_ response: LoadResponse) async -> NextStep {
        if let space = withServer?.spaceOfWhole() { return .again(outgoing, space) }
        await withServer?.succeeded()
        return .result(response)
    }

    private mutating func answerServer(_ reply: Negotiator.Reply) -> NextStep {
        request.headerFields[.authorization] = reply.field?.reveal()
        return .again(outgoing, reply.space)
    }

    private mutating func answerProxy(_ reply: Negotiator.Reply) -> NextStep {
        request.headerFields[.proxyAuthorization] = reply.field?.reveal()
        return .again(outgoing, reply.space)
    }

    /// A 407 comes from the proxy only if the proxy has seen the request. Through a tunnel, and without a proxy, a
    /// server has sent it, which must not.
    private func isOfProxy(_ response: LoadResponse) -> Bool {
        guard let proxy, response.head.status == .proxyAuthenticationRequired, !original.url.isSecure else {
            return false
        }
        return response.facts.hops.last?.connection.proxy == "\(proxy)"
    }
}
