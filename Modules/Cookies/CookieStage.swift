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
        let own = request.differing?.options
        guard own?.handlesCookies ?? isOn,
            let rules = CookieRequest(request.url, mainDocument: own?.mainDocument)
        else { return try await next.load(request, in: context) }
        var request = request
        // Where the app sends its own, the jar is not asked.
        if !request.headerFields.contains(where: { $0.name == .cookie }) {
            var found = jar.field(for: rules, of: context.principal)
            if case .notLoaded = found {
                try await load()
                found = jar.field(for: rules, of: context.principal)
            }
            if case .octets(let field) = found {
                context.recorder?.decided(.cookies, "sent", because: jar.name)
                request.headerFields.append(HTTPField(name: .cookie, value: field))
            }
        }
        let response = try await next.load(request, in: context)
        // The cookies of a stored response were kept when it was received, and may have been removed since.
        let sent = response.fieldsSentNow
        guard policy != .never, sent.contains(where: { $0.name == .setCookie }) else { return response }
        await keep(sent, for: rules, in: context)
        return response
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
