import HTTPTypes
import SallyportCore
import SallyportLoading

/// A stage of an app's own: names the app in each request.
struct NamingStage: LoadStage {
    let name: String

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        var request = request
        request.headerFields[.userAgent] = name
        return try await next.load(request, in: context)
    }
}
