internal import SallyportCore
public import SallyportLoading

extension SecureSession {
    /// Says what the session would do with a request now, and why: handler, route, versions of TLS, authentication,
    /// cookies, cache. No connection is made, nothing is sent and nothing changes.
    ///
    /// ```swift
    /// print(try await session.explain(.get("https://reports.corp.example/today")))
    /// ```
    ///
    /// If the request would be refused, `LoadExplanation.refusal` has the error.
    public func explain(_ request: LoadRequest) async -> LoadExplanation {
        let request = prepared(request)
        var explanation = LoadExplanation(request)
        do throws(LoadError) {
            try admit()
            try await explain(request, into: &explanation)
        } catch {
            explanation.refused(error)
        }
        return explanation
    }

    private func explain(
        _ request: LoadRequest, into explanation: inout LoadExplanation
    ) async throws(LoadError) {
        var context = context(for: request, collectsUpTo: nil, delegate: nil)
        context.recorder = nil
        guard let entry = entries.first(where: { takes($0, request) }) else { throw untaken() }
        switch entry {
        case .secureHTTP, .systemHTTP:
            explanation.handler = "http"
            await chain.explain(request, in: context, into: &explanation)
        case .plugin(let handler):
            explanation.handler = (handler as? HandlerOfType).map { "\($0.type)" } ?? "\(type(of: handler))"
            try engine.checkAuthorized()
        }
    }
}
