// Fills a cache until it is killed. Prints `open`, and the number of each answer once it is stored.
import Glibc
import HTTPTypes
import Logging
import SallyportCache
import SallyportCore
import SallyportLoading
import SallyportSecureStore

/// Answers each request with a body that can be told from every other, of a length that varies.
struct Server: LoadStage {
    func load(
        _ request: LoadRequest, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        let number = Int(request.url.query ?? "") ?? 0
        let length = [100, 5000, 70_000, 400_000][number % 4]
        var head = HTTPResponse(status: .ok)
        head.headerFields[.cacheControl] = "max-age=100000"
        head.headerFields[.contentLength] = "\(length)"
        let body = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: length)
        var response = LoadResponse(head: head, url: request.url, body: ResponseBody(body))
        response.facts.decision = try decision(request)
        return response
    }

    private func decision(_ request: LoadRequest) throws(LoadError) -> RouteDecision {
        guard let endpoint = request.url.endpoint else { throw LoadError(.invalidRequest, "No server.") }
        return RoutingTable(default: .direct).decide(endpoint)
    }
}

/// Lets everything through, straight.
struct Open: AccessGate {
    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        ServerAccess(decision: RoutingTable(default: .direct).decide(endpoint), relay: nil)
    }
    func checkAuthorized() throws(AccessDenied) {}
    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}

func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(1, bytes, bytes.count)
}

let store = try await SecureStore.open(
    at: CommandLine.arguments[1], protectedBy: .keyFile(CommandLine.arguments[2]))
let cache = SecureCache(store: store, gate: nil)
cache.diskCapacity = 20 << 20
let chain = LoadChain([CacheStage(cache: cache, gate: Open()), Server()])
say("open")
var number = Int(CommandLine.arguments[3]) ?? 0
while true {
    let context = LoadContext(
        requestID: 1, logger: Logger(label: "child"), deadline: .now + .seconds(60), idleTimeout: .seconds(60),
        principal: .instance)
    let response = try await chain.load(.get("https://a.example/?\(number)"), in: context)
    while try await response.body.next() != nil {}
    if number % 3 == 0 { await cache.settle() }
    if number % 3 == 0 { say("\(number)") }
    number += 1
}
