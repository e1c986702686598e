import Glibc
import HTTPTypes
import Logging
import SallyportBase
import SallyportCache
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import SallyportURLLoading

/// A page in the cache, and what loads it: the stage alone, or a session.
package struct CachedPage {
    package static let length = 16 << 10
    private static let url = "http://127.0.0.1:9/cached"

    private let cached: LoadChain
    private let bare: LoadChain
    private let loading: URLLoadingSystem
    private let store: SecureStore

    /// - Parameter folder: where its store will be.
    package init(in folder: String) async throws {
        store = try await SecureStore.open(at: "\(folder)/store", protectedBy: .keyFile("\(folder)/key"))
        let cache = SecureCache(store: store, gate: nil)
        let gate = DirectGate()
        let stage = CacheStage(cache: cache, gate: gate)
        loading = URLLoadingSystem(gate: gate, stages: { _ in [stage] })
        (cached, bare) = (LoadChain([stage, PageServer()]), LoadChain([PageServer()]))
        try await loadByStage()
        while cache.statistics.entries == 0 { try await Task.sleep(for: .milliseconds(10)) }
    }

    package func loadBySession() async throws {
        let count = try await loading.session.data(for: .get(Self.url)).body.count
        precondition(count == Self.length)
    }

    package func loadByStage() async throws {
        let count = try await load(Self.url, isCached: true)
        precondition(count == Self.length)
    }

    /// What cannot be stored, with the stage or without it.
    @discardableResult
    package func load(_ url: String, isCached: Bool) async throws -> Int {
        let context = LoadContext(
            requestID: 1, logger: Self.logger, deadline: .now + .seconds(60), idleTimeout: .seconds(60),
            principal: .instance)
        let chain = isCached ? cached : bare
        return try await chain.load(LoadRequest(.get, RequestURL(url)), in: context).body.collect(upTo: .mebibytes(1))
            .count
    }

    private static let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }

    package func shutdown() async {
        await loading.shutdown()
        store.close()
    }
}

/// A server within the process: one URL may be stored, all others give a small answer that may not.
private struct PageServer: LoadStage {
    private static let body = [UInt8](repeating: 7, count: CachedPage.length)
    private static let small = [UInt8](repeating: 7, count: 128)

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        var head = HTTPResponse(status: .ok)
        head.headerFields[.date] = "Sun, 06 Nov 1994 08:49:37 GMT"
        head.headerFields[.contentType] = "text/plain"
        let isCached = request.url.path == "/cached"
        if isCached { head.headerFields[.cacheControl] = "max-age=2147483648" }
        if request.url.path == "/forbidden" { head.headerFields[.cacheControl] = "no-store" }
        let body = isCached ? Self.body : Self.small
        head.headerFields[.contentLength] = "\(body.count)"
        var response = LoadResponse(head: head, url: request.url, body: ResponseBody(body))
        response.facts.decision = request.url.endpoint.map(DirectGate.table.decide)
        return response
    }
}
