import CachePeer
import Glibc
import HTTPTypes
import Logging
import SallyportBase
import SallyportCache
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import SallyportURLLoading

/// Prints the cache's figures of Docs/Performance.md: CPU time of the process, the median of interleaved rounds.
///
///     CacheTable DIRECTORY
@main
struct CacheTable {
    static let length = 16 << 10
    static let rounds = 7
    static let count = 20_000

    static func main() async throws {
        guard CommandLine.arguments.count == 2 else {
            print("usage: CacheTable DIRECTORY")
            exit(64)
        }
        let directory = CommandLine.arguments[1]
        let store = try await SecureStore.open(
            at: "\(directory)/store", protectedBy: .keyFile("\(directory)/key"))
        let cache = SecureCache(store: store, gate: nil)
        let gate = Straight()
        let stage = CacheStage(cache: cache, gate: gate)
        let loading = URLLoadingSystem(gate: gate, stages: { _ in [stage] })
        let setting = Setting(
            cached: LoadChain([stage, Server()]), bare: LoadChain([Server()]), session: loading.session,
            peer: Peer(directory))
        try await setting.fill(cache)
        try await setting.run()
        await loading.shutdown()
        store.close()
    }
}

/// What is measured.
struct Setting {
    let cached: LoadChain
    let bare: LoadChain
    let session: SecureSession
    let peer: Peer

    func fill(_ cache: SecureCache) async throws {
        _ = try await load("http://127.0.0.1:9/cached", cached)
        while cache.statistics.entries == 0 { try await Task.sleep(for: .milliseconds(10)) }
    }

    private func load(_ url: String, _ chain: LoadChain) async throws -> Int {
        let context = LoadContext(
            requestID: 1, logger: Self.logger, deadline: .now + .seconds(60), idleTimeout: .seconds(60),
            principal: .instance)
        return try await chain.load(LoadRequest(.get, RequestURL(url)), in: context).body.collect(upTo: .megabytes(1))
            .count
    }

    private static let logger = Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }

    func run() async throws {
        let rows: [(String, () async throws -> Void)] = [
            ("LMDB and AES-256-GCM in C, 16 KiB", { peer.read() }),
            ("cache hit, 16 KiB, the stage alone", { try await check(load("http://127.0.0.1:9/cached", cached)) }),
            (
                "cache hit, 16 KiB, the whole session",
                { try await check(session.data(for: .get("http://127.0.0.1:9/cached")).body.count) }
            ),
            ("a load that cannot be stored, without the stage", { _ = try await load("http://127.0.0.1:9/x", bare) }),
            ("a load that cannot be stored, with it", { _ = try await load("http://127.0.0.1:9/x", cached) }),
            ("no-store, without the stage", { _ = try await load("http://127.0.0.1:9/forbidden", bare) }),
            ("no-store, with it", { _ = try await load("http://127.0.0.1:9/forbidden", cached) }),
        ]
        var times = [[Double]](repeating: [], count: rows.count)
        for _ in 0..<CacheTable.rounds {
            for (index, row) in rows.enumerated() {
                let start = Self.cpu
                for _ in 0..<CacheTable.count { try await row.1() }
                times[index].append((Self.cpu - start) / Double(CacheTable.count))
            }
        }
        let medians = times.map { $0.sorted()[$0.count / 2] }
        for (row, time) in zip(rows, medians) {
            print("\(row.0): \(Self.text(time * 1e6)) µs, \(Int(1 / time)) a second")
        }
        print("hit of the session / LMDB and AES: \(Self.text(medians[2] / medians[0]))")
        print("the stage for what cannot be stored: \(Self.text((medians[4] - medians[3]) * 1e6)) µs")
        print("the stage for no-store: \(Self.text((medians[6] - medians[5]) * 1e6)) µs")
        print("hits of the session: \(1 / medians[2] >= 50_000 ? "reached" : "missed") (50,000 a second)")
    }

    private func check(_ count: Int) throws { precondition(count == CacheTable.length) }

    private static func text(_ number: Double) -> String { "\((number * 100).rounded() / 100)" }

    private static var cpu: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// The peer in C.
final class Peer {
    private let peer: OpaquePointer
    private var room = [UInt8](repeating: 0, count: CacheTable.length)

    init(_ directory: String) {
        mkdir("\(directory)/lmdb", 0o700)
        let value = [UInt8](repeating: 7, count: CacheTable.length)
        peer = cache_peer_open("\(directory)/lmdb", value, value.count)
    }

    func read() { precondition(cache_peer_read(peer, &room) == CacheTable.length) }

    deinit { cache_peer_close(peer) }
}

/// A server within the process: one URL may be stored, all others give a small answer that may not.
struct Server: LoadStage {
    private static let body = [UInt8](repeating: 7, count: CacheTable.length)
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
        response.facts.decision = request.url.endpoint.map(Straight.table.decide)
        return response
    }
}

/// Lets everything through, straight.
struct Straight: AccessGate {
    static let table = RoutingTable(default: .direct)

    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess {
        ServerAccess(decision: Self.table.decide(endpoint), relay: nil)
    }
    func checkAuthorized() throws(AccessDenied) {}
    func onAccessChange(_ observer: @escaping @Sendable (AccessChange) -> Void) -> AccessObservation {
        AccessObservation()
    }
}
