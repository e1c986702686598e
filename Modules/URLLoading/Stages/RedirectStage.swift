internal import HTTPTypes
internal import Logging
public import SallyportCore

/// Follows redirects: the first stage, so that each hop passes all others anew.
///
/// Only `http` and `https` targets are followed. `Authorization`, `Cookie`, `Proxy-Authorization` and the fields that
/// the app marked with `originBoundFields` never reach another origin, nor come back from one. The app may change, refuse
/// or stop each hop. A request that was made before in the same load, with no cookie set since, is a loop: it ends the
/// load with `tooManyRedirects` before the limit does.
public struct RedirectStage: LoadStage {
    private let limit: Int
    private let isOn: Bool

    /// - Parameters:
    ///   - limit: how many redirects one load follows at most.
    ///   - isOn: whether redirects are followed where the request does not say.
    public init(limit: Int = 20, isOn: Bool = true) {
        self.limit = limit
        self.isOn = isOn
    }

    public func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        let response = try await next.load(request, in: context)
        guard RedirectRules.isRedirect(response.head.status), request.options.followsRedirects ?? isOn else {
            return response
        }
        return try await follow(response, of: request, in: context, next: next)
    }

    private func follow(
        _ first: LoadResponse, of original: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        var (request, response) = (original, first)
        var hops: [HopFacts] = []
        var (redirects, trail) = (0, RedirectTrail())
        while let target = try target(of: response, to: request) {
            guard redirects < limit else {
                throw LoadError(.tooManyRedirects, at: .response, "More than \(limit) redirects.")
            }
            let proposed = try RedirectRules.request(request, redirectedTo: target, status: response.head.status)
            guard let chosen = try await choice(proposed, for: request, response, in: context) else { break }
            trail.add(request, response)
            guard !trail.has(chosen) else {
                throw LoadError(.tooManyRedirects, at: .response, "The redirects go round in a circle.")
            }
            request = chosen
            redirects += 1
            hops += response.facts.hops
            context.recorder?.decided(.redirect, request.url.redacted, because: "\(response.head.status.code)")
            context.logger.debug(
                "Following a redirect.",
                metadata: ["request": "\(context.requestID)", "status": "\(response.head.status.code)"])
            await response.drain()
            response = try await next.load(request, in: context)
        }
        response.facts.hops = hops + response.facts.hops
        return response
    }

    /// The request of the next hop as the app wants it; nil where the redirect is the load's answer.
    ///
    /// - Throws: `redirectRefused`; `resourceTimeout` where the app takes longer than the load may.
    private func choice(
        _ proposed: LoadRequest, for request: LoadRequest, _ response: LoadResponse, in context: LoadContext
    ) async throws(LoadError) -> LoadRequest? {
        guard let responder = context.responder as? DelegateResponder else { return proposed }
        let head = response.head
        let decision = await untilDeadline(context.deadline) {
            await responder.redirects(request, to: proposed, head)
        }
        if Task.isCancelled { throw .cancelled() }
        switch decision {
        case .notImplemented: return proposed
        case .follow(let chosen): return try RedirectRules.request(chosen, chosenOver: proposed)
        case .stop: return nil
        case .refuse: throw LoadError(.redirectRefused, at: .response, "The app refused the redirect.")
        case nil: throw LoadError(.resourceTimeout, at: .response, "The app did not decide in the time for the load.")
        }
    }

    /// Where the answer redirects to; nil where it does not. A refused target frees the connection.
    private func target(of response: LoadResponse, to request: LoadRequest) throws(LoadError) -> RequestURL? {
        do throws(LoadError) {
            return try RedirectRules.target(of: response.head, from: request.url)
        } catch {
            response.body.discard()
            throw error
        }
    }
}
