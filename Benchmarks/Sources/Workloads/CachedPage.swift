import HTTPTypes
import Logging
import Sallyport
import SallyportBase
import SallyportCache
import SallyportCore
import SallyportLoading

/// A page in the cache of an activated instance, and what loads it: the stage alone, or a session with all stages.
package struct CachedPage {
    package static let length = 16 << 10

    private let instance: ActivatedInstance
    private let session: SecureSession
    private let cached: LoadChain
    private let bare: LoadChain
    /// The folder of the web server.
    private let server: String
    private let page: String

    /// - Parameters:
    ///   - file: the web server's, which a session loads once.
    ///   - folder: where the store will be.
    package init(_ file: String, _ setting: Setting, in folder: String) async throws {
        server = try setting.server(.direct, "http")
        page = "\(server)/\(file)"
        instance = try await ActivatedInstance(in: "\(folder)/store", issuer: setting.linkIssuer())
        let sallyport = instance.sallyport
        var configuration = SessionConfiguration()
        // Else the system's authorities are read before the first request, even over plain HTTP.
        configuration.trust = try .only(pemFile: setting.authorityFile)
        session = sallyport.makeSession(configuration)
        guard let cache = sallyport.cache, let endpoint = try RequestURL(page).endpoint else {
            throw PeerFailure("there is no cache, or the page \(page) has no server")
        }
        let answers = PageServer(decision: try sallyport.authorization.access(to: endpoint).decision)
        let stage = CacheStage(cache: cache, gate: sallyport.authorization)
        (cached, bare) = (LoadChain([stage, answers]), LoadChain([answers]))
        try await loadBySession()
        try await loadByStage()
        try await Self.waitForEntries(2, in: cache)
    }

    /// They are written in the background.
    private static func waitForEntries(_ count: Int, in cache: SecureCache) async throws {
        for _ in 0..<1000 where cache.statistics.entries < count { try await Task.sleep(for: .milliseconds(10)) }
        guard cache.statistics.entries >= count else { throw PeerFailure("a page was not stored within 10 s") }
    }

    package func loadBySession() async throws {
        let count = try await session.data(for: .get(page)).body.count
        precondition(count == Self.length)
    }

    package func loadByStage() async throws {
        let count = try await load(PageServer.stored, isCached: true)
        precondition(count == Self.length)
    }

    /// From a server within the process, with the stage or without it.
    @discardableResult
    package func load(_ path: String, isCached: Bool) async throws -> Int {
        let context = LoadContext(
            requestID: 1, logger: Self.logger, deadline: .now + .seconds(60), idleTimeout: .seconds(60),
            principal: .instance)
        let chain = isCached ? cached : bare
        let request = LoadRequest(.get, try RequestURL(server + path))
        return try await chain.load(request, in: context).body.collect(upTo: .mebibytes(1)).count
    }

    private static let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }

    package func shutdown() async throws { try await instance.shutdown() }
}

/// A server within the process: one page may be stored, all others give a small answer that may not.
private struct PageServer: LoadStage {
    static let stored = "/stored"
    private static let body = [UInt8](repeating: 7, count: CachedPage.length)
    private static let small = [UInt8](repeating: 7, count: 128)

    /// How the policy decides about the server, as the connector would say.
    let decision: RouteDecision

    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        var head = HTTPResponse(status: .ok)
        head.headerFields[.date] = "Sun, 06 Nov 1994 08:49:37 GMT"
        head.headerFields[.contentType] = "text/plain"
        let isStored = request.url.path == Self.stored
        if isStored { head.headerFields[.cacheControl] = "max-age=2147483648" }
        if request.url.path == "/forbidden" { head.headerFields[.cacheControl] = "no-store" }
        let body = isStored ? Self.body : Self.small
        head.headerFields[.contentLength] = "\(body.count)"
        var response = LoadResponse(head: head, url: request.url, body: ResponseBody(body))
        response.facts.decision = decision
        return response
    }
}
