internal import HTTPTypes
internal import Logging
public import SallyportCore

/// Follows redirects: the first stage, so that each hop passes all others anew.
///
/// Only `http` and `https` targets are followed. `Authorization`, `Cookie`, `Proxy-Authorization` and the fields that
/// the app marked with `originBoundFields` never reach another origin, nor come back from one.
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
        while let target = try target(of: response, to: request) {
            guard hops.count < limit else {
                throw LoadError(.tooManyRedirects, at: .response, "More than \(limit) redirects.")
            }
            request = try RedirectRules.request(request, redirectedTo: target, status: response.head.status)
            hops += response.facts.hops
            context.logger.debug(
                "Following a redirect.",
                metadata: ["request": "\(context.requestID)", "status": "\(response.head.status.code)"])
            await response.drain()
            response = try await next.load(request, in: context)
        }
        response.facts.hops = hops + response.facts.hops
        return response
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
