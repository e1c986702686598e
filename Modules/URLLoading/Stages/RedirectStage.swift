internal import HTTPTypes
internal import Logging
internal import SallyportBase
public import SallyportCore
public import SallyportLoading

/// Follows redirects: the first stage, so that each hop passes through all others again.
///
/// Only `http` and `https` targets are followed, and none from `https` to `http` unless that is allowed. Credentials
/// never reach another origin, and the app's other fields reach only servers within their scope (`FieldScopes`); a
/// field once dropped does not return. The app may change, refuse or stop each hop. A request that repeats an earlier
/// one of the same load, with no cookie set and no challenge answered since, is a loop: it ends the load with
/// `tooManyRedirects` before the limit is reached.
public struct RedirectStage: LoadStage {
    private let limit: Int
    private let isOn: Bool
    private let rules: RedirectRules
    /// Completes names that have no domain; nil without a policy.
    private let names: (any AccessGate)?

    /// - Parameters:
    ///   - limit: the greatest number of redirects that one load follows.
    ///   - isOn: whether redirects are followed if the request does not say.
    ///   - scopes: to which servers fields are carried if the request does not say.
    ///   - allowsInsecure: whether redirects from `https` to `http` are followed if the request does not say.
    ///   - sites: says which hosts belong to one `FieldScope.site`; if nil, each host is a site of its own.
    ///   - names: completes names that have no domain, of each hop; if nil, they stay as they are.
    public init(
        limit: Int = 20, isOn: Bool = true, scopes: FieldScopes = FieldScopes(), allowsInsecure: Bool = false,
        sites: (any SiteRules)? = nil, names: (any AccessGate)? = nil
    ) {
        self.names = names
        self.limit = limit
        self.isOn = isOn
        rules = RedirectRules(scopes: scopes, allowsInsecure: allowsInsecure, sites: sites)
    }

    public func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        try await pass(request, by: passage(of: request, in: context), in: context, next: next)
    }

    /// Completes a server's name that has no domain, and asks to see redirects if the load follows them.
    public func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage {
        let interests: AnswerInterests = request.differing?.options.followsRedirects ?? isOn ? .redirects : []
        guard let whole = whole(request) else { return .passes(watching: interests) }
        context.recorder?.decided(.name, whole.url.endpoint?.host.description ?? "", because: "default domain")
        return .passes(watching: interests, as: whole, note: whole.url)
    }

    /// Explains how a server's name that has no domain is completed. Redirects depend on the answer, and are not
    /// explained.
    public func explain(
        _ request: inout LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {
        guard let whole = whole(request) else { return }
        request = whole
        explanation.completed(request.url)
    }

    /// The request with its server's whole name; nil if it has that already.
    private func whole(_ request: LoadRequest) -> LoadRequest? {
        guard let names, let endpoint = request.url.endpoint, endpoint.host.isShort else { return nil }
        let completed = names.completed(endpoint)
        guard completed != endpoint else { return nil }
        var request = request
        request.url = request.url.leading(to: completed)
        return request
    }

    /// The next request with its server's whole name. The server that has answered keeps the name by which it was
    /// reached, even if the policy completes it in another way by now.
    private func completed(_ next: LoadRequest, after request: LoadRequest) -> LoadRequest {
        next.url.endpoint == request.url.endpoint ? next : whole(next) ?? next
    }

    /// Follows the redirect, and those behind it.
    public func answered(
        _ first: LoadResponse, to original: LoadRequest, after passage: LoadPassage, in context: LoadContext,
        next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        var (request, response) = (original, first)
        if let sent = passage.note as? RequestURL { request.url = sent }
        var hops: [HopFacts] = []
        var (redirects, trail) = (0, RedirectTrail())
        while let hop = try await hop(after: response, to: request, number: redirects, &trail, in: context) {
            take(note: hop, after: response.head.status, in: context)
            redirects += 1
            hops += response.facts.hops
            await response.drain()
            request = hop.request
            response = try await next.load(request, in: context)
        }
        response.facts.hops = hops + response.facts.hops
        return response
    }

    /// The next hop; nil if the response is the load's result. If this throws, the response's body was discarded, which
    /// frees its connection.
    private func hop(
        after response: LoadResponse, to request: LoadRequest, number: Int, _ trail: inout RedirectTrail,
        in context: LoadContext
    ) async throws(LoadError) -> RedirectRules.Hop? {
        do throws(LoadError) {
            guard var target = try RedirectRules.target(of: response.head, from: request.url) else { return nil }
            target = completed(LoadRequest(.get, target), after: request).url
            guard number < limit else {
                throw LoadError(.tooManyRedirects, at: .response, "More than \(limit) redirects.")
            }
            let proposed = try rules.hop(from: request, to: target, status: response.head.status)
            guard let hop = try await choice(proposed, for: request, response, in: context) else { return nil }
            try rules.check(hop.request, after: request)
            trail.add(request, response)
            guard !trail.has(hop.request) else {
                throw LoadError(.tooManyRedirects, at: .response, "The redirects go round in a circle.")
            }
            return hop
        } catch {
            response.body.discard()
            throw error
        }
    }

    /// The next hop as the app wants it; nil if the redirect itself is the load's response.
    ///
    /// - Throws: `redirectRefused`; `resourceTimeout` if the app takes longer than the load may.
    private func choice(
        _ proposed: RedirectRules.Hop, for request: LoadRequest, _ response: LoadResponse, in context: LoadContext
    ) async throws(LoadError) -> RedirectRules.Hop? {
        guard let responder = context.responder as? DelegateResponder else { return proposed }
        let head = response.head
        let decision = try await appsAnswer(until: context.deadline, under: context.permission) {
            await responder.redirects(request, to: proposed.request, head)
        }
        switch decision {
        case .notImplemented: return proposed
        // The name is completed before the request is judged: which fields it carries depends on its origin.
        case .follow(let chosen):
            return try rules.hop(completed(chosen, after: request), chosenOver: proposed, after: request)
        case .stop: return nil
        case .refuse: throw LoadError(.redirectRefused, at: .response, "The app refused the redirect.")
        case nil: throw LoadError(.resourceTimeout, at: .response, "The app did not decide in the time for the load.")
        }
    }

    private func take(note hop: RedirectRules.Hop, after status: HTTPResponse.Status, in context: LoadContext) {
        let url = hop.request.url
        context.recorder?.decided(.redirect, url.redacted, because: "\(status.code)")
        for name in hop.withheld {
            context.recorder?.decided(.withheld, name.canonicalName, because: "redirect to \(url.origin)")
        }
        context.logger.debug(
            "Following a redirect.",
            metadata: [
                "request": "\(context.requestID)", "status": "\(status.code)",
                "withheld": "\(hop.withheld.map(\.canonicalName).joined(separator: ","))",
            ])
    }
}

extension RedirectStage {
    /// The stage with the settings of a session's configuration.
    init(_ configuration: SessionConfiguration, sites: (any SiteRules)?, names: (any AccessGate)?) {
        self.init(
            limit: configuration.redirectLimit, isOn: configuration.followsRedirects,
            scopes: configuration.fieldScopes, allowsInsecure: configuration.allowsInsecureRedirects, sites: sites,
            names: names)
    }
}
