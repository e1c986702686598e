import HTTPTypes
import SallyportCache
import SallyportCore
import SallyportLoading
import SallyportTransport
import SessionTestSupport
import TestSupport
import Testing

@testable import SallyportURLLoading

/// The settings of the cache, observed by a real server: directly and through a relay.
@Suite(.timeLimit(.minutes(1)))
struct CacheTableTests {
    /// Routes whose sessions have the cache in their chain.
    private struct Cached {
        let routes: Routes
        let cache: SecureCache
        private let store: TestStore

        init(_ way: Way) async throws {
            store = try await TestStore()
            let cache = SecureCache(store: store.store, gate: nil)
            self.cache = cache
            routes = try Routes(way) { gate in
                { configuration in
                    [
                        CacheStage(
                            SharedCache(cache), gate: gate, policy: configuration.cachePolicy,
                            isOn: configuration.usesCache)
                    ]
                }
            }
            routes.site.answer {
                $0.write("HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 2\r\n\r\nok")
            }
        }

        func load(_ session: SecureSession, _ policy: CachePolicy? = nil) async throws -> LoadError? {
            var request = try routes.site.request()
            if let policy { request.options.cachePolicy = policy }
            let failure = await session.failure(request)
            await cache.settle()
            return failure
        }

        var count: Int { routes.site.seen.heads.count }
    }

    /// `URLCache`: used where nothing is said; nil (`usesCache`) switches it off for the session.
    @Test(arguments: Way.allCases)
    func theCacheOfASession(_ way: Way) async throws {
        let cached = try await Cached(way)
        let (on, off) = (try cached.routes.session(), try cached.routes.session { $0.usesCache = false })
        for _ in 0..<3 { #expect(try await cached.load(on) == nil) }
        #expect(cached.count == 1)
        for _ in 0..<2 { #expect(try await cached.load(off) == nil) }
        #expect(cached.count == 3)
        #expect(cached.routes.relayedConnections == (way == .relayed ? 2 : 0))
    }

    /// Also where there is no cache that could answer.
    @Test func cacheOnlyRequestsAreNeverSent() async throws {
        let fixture = Fixture()
        var request = try LoadRequest.get("http://a.example/")
        request.options.cachePolicy = .returnCacheDataDontLoad
        #expect(await fixture.loading.session.failure(request)?.code == .notInCache)
        fixture.loading.disable()
        #expect(await fixture.loading.shared.failure(request)?.code == .notInCache)
        #expect(fixture.client.requests.isEmpty && fixture.systemClient.requests.isEmpty)
    }

    @Test func sessionsThatOnlyTheCacheMayAnswerSendNothingWithoutACache() async throws {
        let fixture = Fixture()
        var configuration = SessionConfiguration()
        configuration.cachePolicy = .returnCacheDataDontLoad
        let session = fixture.loading.makeSession(configuration)
        var request = try LoadRequest.get("http://a.example/")
        #expect(await session.failure(request)?.code == .notInCache)
        #expect(fixture.client.requests.isEmpty)
        request.options.cachePolicy = .useProtocolCachePolicy
        #expect(await session.failure(request) == nil)
        #expect(fixture.client.requests.count == 1)
    }

    @Test func aReloadPastCachesOnTheWaySaysSoWithoutACache() async throws {
        let fixture = Fixture()
        var configuration = SessionConfiguration()
        configuration.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        let ofSession = try LoadRequest.get("http://a.example/")
        var ofRequest = ofSession
        ofRequest.options.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        #expect(await fixture.loading.makeSession(configuration).failure(ofSession) == nil)
        #expect(await fixture.loading.session.failure(ofRequest) == nil)
        fixture.loading.disable()
        #expect(await fixture.loading.shared.failure(ofRequest) == nil)
        let sent = fixture.client.requests + fixture.systemClient.requests
        #expect(sent.map { $0.headerFields[.cacheControl] } == ["no-cache", "no-cache", "no-cache"])
        #expect(sent.map { $0.headerFields[.custom("Pragma")] } == ["no-cache", "no-cache", "no-cache"])
    }

    @Test(arguments: Way.allCases)
    func requestCachePolicyOfTheSessionAndOfTheRequest(_ way: Way) async throws {
        let cached = try await Cached(way)
        let inside = try cached.routes.session { $0.cachePolicy = .returnCacheDataDontLoad }
        #expect(try await cached.load(inside)?.code == .notInCache)
        #expect(cached.count == 0 && cached.routes.relayedConnections == 0)
        let anew = try cached.routes.session { $0.cachePolicy = .reloadIgnoringLocalCacheData }
        for _ in 0..<2 { #expect(try await cached.load(anew) == nil) }
        #expect(cached.count == 2)
        #expect(try await cached.load(inside) == nil)
        #expect(try await cached.load(anew, .returnCacheDataElseLoad) == nil)
        #expect(cached.count == 2)
        #expect(try await cached.load(inside, .reloadIgnoringLocalAndRemoteCacheData) == nil)
        let head = try #require(cached.routes.site.seen.heads.last).lowercased()
        #expect(head.contains("cache-control: no-cache\r\n") && head.contains("pragma: no-cache\r\n"))
        #expect(try await cached.load(inside, .reloadRevalidatingCacheData) == nil)
        #expect(cached.count == 4)
    }
}
