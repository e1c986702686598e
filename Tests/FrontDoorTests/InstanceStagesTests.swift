import SallyportAuthorization
import SallyportCache
import SallyportCookies
import SallyportCore
import SallyportHTTPAuthentication
import SallyportLoading
import SallyportSecureStore
import SallyportURLLoading
import TestSupport
import Testing

@testable import Sallyport

@Suite(.timeLimit(.minutes(1))) struct InstanceStagesTests {
    private struct OwnStage: LoadStage {
        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse { try await next.load(request, in: context) }
    }

    /// So that it sees no credential and no cookie, and what it makes of an answer is not kept.
    @Test func anAppsOwnStagesStandAboveOurs() async throws {
        let folder = try TemporaryDirectory()
        let data = try await SecureStore.open(at: folder.file("store"), protectedBy: .keyFile(folder.file("key")))
        defer { data.close() }
        let gate = try Authorization.open(store: data)
        let own = OwnStages(stages: { $0.usesCache ? [OwnStage()] : [] }, schemes: [])
        let stages = InstanceStages(
            own: own, further: [], credentials: CredentialStorage(), jars: CookieJars(in: data, gate: gate),
            cache: SharedCache(SecureCache(store: data, gate: gate)), gate: gate)

        var configuration = SessionConfiguration()
        let all = stages.stages(of: configuration)
        try #require(all.count == 4)
        #expect(
            all[0] is OwnStage && all[1] is AuthenticationStage && all[2] is CookieStage && all[3] is CacheStage)
        configuration.usesCache = false
        #expect(stages.stages(of: configuration).first is AuthenticationStage)
    }
}
