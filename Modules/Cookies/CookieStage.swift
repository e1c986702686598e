package import HTTPTypes
internal import Logging
public import SallyportCore
public import SallyportLoading

/// Adds a jar's cookies to requests and stores those of answers. Stands below Authentication, so that each request of a
/// challenge includes the cookies of the previous answer, and above the cache.
///
/// A request with its own `Cookie` field is sent with that field only; the cookies of its answer are stored
/// nevertheless. Each request of a redirect chain passes the stage. Cookies are also stored of answers that only the
/// cache sees, such as those to a validation behind a stale answer; if it sends the request again after such an answer,
/// the request has the new cookies. Interim answers (103) set no cookie.
public struct CookieStage: LoadStage {
    private let jar: CookieJar
    private let policy: CookieAcceptPolicy
    private let isOn: Bool

    /// - Parameters:
    ///   - jar: holds the cookies; sessions may share it.
    ///   - acceptPolicy: which cookies of servers are kept.
    ///   - handlesCookies: whether the stage is active for requests that do not say.
    public init(
        jar: CookieJar, acceptPolicy: CookieAcceptPolicy = .onlyFromMainDocument, handlesCookies: Bool = true
    ) {
        self.jar = jar
        policy = acceptPolicy
        isOn = handlesCookies
    }

    public func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        guard let rules = rules(for: request) else { return try await next.load(request, in: context) }
        var passage = passage(of: request, by: rules, in: context)
        if passage == nil {
            try await load()
            passage = self.passage(of: request, by: rules, in: context)
        }
        // If a lock has cleared the jar's memory again, there is nothing to send.
        return try await pass(request, by: passage ?? .passes(watching: interests), in: context, next: next)
    }

    /// Runs only if the cookies must be read from the store first.
    public func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage {
        if jar.holdsNone {
            return .passes(watching: request.differing?.options.handlesCookies ?? isOn ? interests : [])
        }
        guard let rules = rules(for: request) else { return .passes() }
        return passage(of: request, by: rules, in: context) ?? .runs
    }

    /// Keeps the cookies that the server sent now: those of a stored response were kept when it was received, and may have
    /// been removed since.
    public func answered(
        _ response: LoadResponse, to request: LoadRequest, after passage: LoadPassage, in context: LoadContext,
        next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        let sent = response.fieldsSentNow
        if let rules = rules(for: request) { await keep(sent, for: rules, in: context) }
        return response
    }

    /// The properties of a request that decide on its cookies; nil if the stage is inactive for it.
    private func rules(for request: LoadRequest) -> CookieRequest? {
        let own = request.differing?.options
        guard own?.handlesCookies ?? isOn else { return nil }
        return CookieRequest(request.url, mainDocument: own?.mainDocument)
    }

    private var interests: AnswerInterests { policy == .never ? [] : .cookies }

    /// The request with its cookies; nil while they are not in memory.
    private func passage(
        of request: LoadRequest, by rules: CookieRequest, in context: LoadContext
    ) -> LoadPassage? {
        // If the request has its own cookies, the jar is not used.
        guard !request.headerFields.contains(where: { $0.name == .cookie }) else {
            return .passes(watching: interests)
        }
        switch jar.field(for: rules, of: context.principal) {
        case .notLoaded: return nil
        case .none: return .passes(watching: interests)
        case .bytes(let field):
            context.recorder?.decided(.cookies, "sent", because: jar.name)
            var sending = request
            sending.addJarCookies(field)
            return .passes(watching: interests, as: sending)
        }
    }

    /// Says whether the jar's cookies would be sent, which may read them from the store. Nothing is said of a request
    /// without cookies, or with a `Cookie` field of its own.
    public func explain(
        _ request: inout LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {
        let own = request.differing?.options
        guard own?.handlesCookies ?? isOn, let rules = CookieRequest(request.url, mainDocument: own?.mainDocument),
            !request.headerFields.contains(where: { $0.name == .cookie }), (try? await load()) != nil,
            case .bytes(let field) = jar.field(for: rules, of: context.principal)
        else { return }
        explanation.decided(.cookies, "sent", because: jar.name)
        request.addJarCookies(field)
    }

    /// - Throws: the gate's refusal; `fileSystem` if the stored cookies cannot be read.
    private func load() async throws(LoadError) {
        do throws(CookieError) {
            try await jar.load()
        } catch {
            if let denied = error.underlying as? AccessDenied { throw LoadError(denied) }
            throw LoadError(.fileSystem, at: .request, "The cookies cannot be read.", underlying: error)
        }
    }

    private func keep(_ fields: HTTPFields, for rules: CookieRequest, in context: LoadContext) async {
        guard policy == .always || rules.isSameSite else {
            return context.logger.debug(
                "A cookie is refused.",
                metadata: ["request": "\(context.requestID)", "reason": "\(CookieRefusal.policy.rawValue)"])
        }
        // Meanwhile a lock has cleared the jar's memory; if it cannot be read again, no cookie can be added.
        guard (try? await jar.load()) != nil else { return }
        let values = fields.filter { $0.name == .setCookie }
            .map { field in unsafe field.withUnsafeBytesOfValue { unsafe Array($0) } }
        let taken = jar.receive(values, for: rules, of: context.principal, requestID: context.requestID)
        context.recorder?.decided(.cookies, "kept \(taken) of \(values.count)", because: jar.name)
    }
}

extension CookieStage: SentFieldsStage {
    /// Keeps the cookies of an answer that does not come up to this stage, by the rules for the others.
    package func heard(
        _ fields: HTTPFields, answering request: LoadRequest, in context: LoadContext
    ) async -> LoadRequest {
        guard !interests.isEmpty, fields.contains(.setCookie), let rules = rules(for: request) else { return request }
        await keep(fields, for: rules, in: context)
        return renewed(request, by: rules, of: context.principal)
    }

    /// The request with the cookies that the jar has now: a server may accept a cookie once only, and have replaced it.
    /// A `Cookie` field that is not the jar's stays as it is.
    private func renewed(_ request: LoadRequest, by rules: CookieRequest, of principal: Principal) -> LoadRequest {
        guard request.hasJarCookies || !request.headerFields.contains(.cookie) else { return request }
        var renewed = request
        renewed.headerFields[.cookie] = nil
        renewed.hasJarCookies = false
        if case .bytes(let field) = jar.field(for: rules, of: principal) { renewed.addJarCookies(field) }
        return renewed
    }
}

extension LoadRequest {
    fileprivate mutating func addJarCookies(_ field: [UInt8]) {
        headerFields.append(HTTPField(name: .cookie, value: field))
        hasJarCookies = true
    }
}
