import HTTPTypes
import Logging
import SallyportBase
import SallyportCache
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import TestSupport
import Testing

@testable import SallyportCommandLine

@Suite struct CacheCommandTests {
    private let directory: TemporaryDirectory
    private var folder: String { directory.path }

    init() throws { directory = try TemporaryDirectory() }

    private func run(_ arguments: String...) async -> SallyportCommandLine.ExitStatus {
        await SallyportProgram.run(
            ["cache"] + arguments + ["--store", "\(folder)/store", "--key-file", "\(folder)/key"])
    }

    private func open() async throws -> SecureStore {
        try await SecureStore.open(at: "\(folder)/store", protectedBy: .keyFile("\(folder)/key"))
    }

    /// Answers everything with something that can be stored.
    private struct Server: LoadStage, AccessGate {
        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            var response = LoadResponse(
                head: HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]), url: request.url,
                body: ResponseBody([1, 2, 3]))
            response.facts.decision = request.url.endpoint.map(RoutingTable(default: .direct).decide)
            return response
        }
        func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
            ServerAccess(decision: RoutingTable(default: .direct).decide(endpoint), relay: nil)
        }
        func checkAuthorized() throws(AccessDenied) {}
        func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
            AccessObservation()
        }
    }

    private func fill(_ urls: String...) async throws {
        let store = try await open()
        let cache = SecureCache(store: store, gate: nil)
        let chain = LoadChain([CacheStage(cache: cache, gate: Server()), Server()])
        for url in urls {
            let context = LoadContext(
                requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(10),
                idleTimeout: .seconds(10), principal: .instance)
            _ = try await chain.load(.get(url), in: context).body.collect(upTo: .kibibytes(1))
        }
        await cache.settle()
        store.close()
    }

    private func count() async throws -> Int {
        let store = try await open()
        defer { store.close() }
        return SecureCache(store: store, gate: nil).statistics.entries
    }

    @Test func aCacheIsLookedAfter() async throws {
        try await fill("https://a.example/b?c", "https://a.example:444/", "https://b.example/")
        #expect(await run("stat") == .done)
        #expect(await run("stat", "--json") == .done)
        #expect(await run("show", "https://a.example/b?c") == .done)
        #expect(await run("show", "https://a.example/b?c", "--json") == .done)
        #expect(await run("show", "https://nothing.example/") == .done)
        #expect(await run("clear", "--host", "A.example") == .done)
        #expect(try await count() == 1)
        #expect(await run("clear") == .done)
        #expect(try await count() == 0)
    }

    @Test func theOutputShowsTheStoredAnswer() async throws {
        try await fill("https://a.example/b?c")
        let store = try await open()
        let entry = try #require(
            SecureCache(store: store, gate: nil).entries(of: RequestURL("https://a.example/b?c#d")).first)
        #expect(entry.status == 200 && entry.principal == "instance" && entry.way == "direct" && entry.length == 3)
        #expect(entry.fields == ["Cache-Control: max-age=60"] && (58...60).contains(entry.fresh + entry.age))
        store.close()
    }

    @Test func mistakesAreToldAsSuch() async throws {
        #expect(await run("stat") == .usage)
        try await fill("https://a.example/")
        #expect(await run("show", "no url") == .usage)
        #expect(await run("clear", "--host", "a b") == .usage)
        let writer = try await open()
        #expect(await run("clear") == .inUse)

        writer.close()
    }
}
