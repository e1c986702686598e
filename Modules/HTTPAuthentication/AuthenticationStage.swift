internal import HTTPTypes
internal import Logging
public import SallyportCore

/// Answers the challenges of servers (RFC 9110 §11), and sends what a server accepted before unasked where its scheme
/// says that it may.
///
/// The first method that the server offers and this stage knows is asked about, in the order of the server; the app may
/// reject it, and the next is tried. A request with an `Authorization` field of its own is let through, and the server's
/// answer with it. A credential that was refused is not sent a second time in one load.
public struct AuthenticationStage: LoadStage {
    /// How many answers one load gives at most.
    static let limit = 10

    let credentials: CredentialStorage
    let schemes: [AuthenticationMethod: any AuthenticationScheme]

    /// Knows Basic.
    public init(credentials: CredentialStorage) { self.init(credentials: credentials, schemes: [BasicScheme()]) }

    package init(credentials: CredentialStorage, schemes: [any AuthenticationScheme]) {
        self.credentials = credentials
        self.schemes = Dictionary(schemes.map { ($0.method, $0) }) { first, _ in first }
    }

    public func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        guard request.headerFields[.authorization] == nil else { return try await next.load(request, in: context) }
        var negotiation = Negotiation(request, in: context, credentials: credentials, schemes: schemes)
        var hops: [HopFacts] = []
        var response = try await next.load(negotiation.first(), in: context)
        while response.head.status == .unauthorized {
            guard let answer = try await answer(to: response, &negotiation) else { break }
            hops += response.facts.hops
            context.logger.debug(
                "Answering a challenge.",
                metadata: ["request": "\(context.requestID)", "scheme": "\(answer.space.method)"])
            await response.drain()
            response = try await next.load(negotiation.request(with: answer), in: context)
        }
        if response.head.status != .unauthorized { negotiation.succeeded() }
        response.facts.hops = hops + response.facts.hops
        return response
    }

    /// Nil where the server's answer is the result. Where this throws, nobody reads the answer.
    private func answer(
        to response: LoadResponse, _ negotiation: inout Negotiation
    ) async throws(LoadError) -> Negotiation.Answer? {
        do throws(LoadError) {
            return try await negotiation.answer(to: response.head)
        } catch {
            response.body.discard()
            throw error
        }
    }
}
