internal import HTTPTypes
internal import Logging
public import SallyportCore
public import SallyportLoading

/// Sends the cookies of a jar and keeps those of answers. Stands below Authentication, so that each leg of a challenge
/// carries what the last one set, and above the cache.
///
/// A request with a `Cookie` field of its own is sent with that field alone; what its answer sets is kept all the same.
/// Each hop of a redirect passes the stage anew. Interim answers (103) set no cookie.
public struct CookieStage: LoadStage {
    private let jar: CookieJar
    private let policy: CookieAcceptPolicy
    private let isOn: Bool

    /// - Parameter handlesCookies: whether the stage does anything where the request does not say.
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
        // Where a lock took the jar out of memory again, there is nothing to send.
        return try await pass(request, by: passage ?? .passes(watching: interests), in: context, next: next)
    }

    /// Runs only where the cookies are to be read from the store first.
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

    /// What of a request decides on its cookies; nil if the stage has nothing to do with it.
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
        // Where the app sends its own, the jar is not asked.
        guard !request.headerFields.contains(where: { $0.name == .cookie }) else {
            return .passes(watching: interests)
        }
        switch jar.field(for: rules, of: context.principal) {
        case .notLoaded: return nil
        case .none: return .passes(watching: interests)
        case .octets(let field):
            context.recorder?.decided(.cookies, "sent", because: jar.name)
            var sending = request
            sending.headerFields.append(HTTPField(name: .cookie, value: field))
            return .passes(watching: interests, as: sending)
        }
    }

    public func explain(
        _ request: inout LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {
        let own = request.differing?.options
        guard own?.handlesCookies ?? isOn, let rules = CookieRequest(request.url, mainDocument: own?.mainDocument),
            !request.headerFields.contains(where: { $0.name == .cookie }), (try? await load()) != nil,
            case .octets(let field) = jar.field(for: rules, of: context.principal)
        else { return }
        explanation.decided(.cookies, "sent", because: jar.name)
        request.headerFields.append(HTTPField(name: .cookie, value: field))
    }

    /// - Throws: the gate's refusal; `fileSystem` where the stored cookies cannot be read.
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
        // A lock meanwhile took the jar out of memory; what cannot be read again cannot be added to either.
        guard (try? await jar.load()) != nil else { return }
        let values = fields.filter { $0.name == .setCookie }
            .map { field in unsafe field.withUnsafeBytesOfValue { unsafe Array($0) } }
        let taken = jar.receive(values, for: rules, of: context.principal, requestID: context.requestID)
        context.recorder?.decided(.cookies, "kept \(taken) of \(values.count)", because: jar.name)
    }
}
