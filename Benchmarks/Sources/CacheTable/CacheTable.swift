import CachePeer
import Glibc
import Workloads

/// Prints the cache's figures of Docs/Performance.md: CPU time of the process, the median of interleaved rounds.
///
///     CacheTable SETTING.json
@main
struct CacheTable {
    static let rounds = 7
    static let count = 20_000

    static func main() async throws {
        guard CommandLine.arguments.count == 2 else {
            print("usage: CacheTable SETTING.json")
            exit(64)
        }
        let setting = try Setting.read(CommandLine.arguments[1])
        guard let file = try RowTable.read().row("cache-hit").cached else {
            throw PeerFailure("the row cache-hit names no file")
        }
        let page = try await CachedPage(file, setting, in: setting.folder)
        try await run(page, Peer(setting.folder))
        try await page.shutdown()
    }

    private static func run(_ page: CachedPage, _ peer: Peer) async throws {
        let rows: [(String, () async throws -> Void)] = [
            ("LMDB and AES-256-GCM in C, 16 KiB", { peer.read() }),
            ("cache hit, 16 KiB, the stage alone", { try await page.loadByStage() }),
            ("cache hit, 16 KiB, the whole session", { try await page.loadBySession() }),
            ("a load that cannot be stored, without the stage", { try await page.load("/x", isCached: false) }),
            ("a load that cannot be stored, with it", { try await page.load("/x", isCached: true) }),
            ("no-store, without the stage", { try await page.load("/forbidden", isCached: false) }),
            ("no-store, with it", { try await page.load("/forbidden", isCached: true) }),
        ]
        let medians = try await measure(rows.map(\.1))
        for (row, time) in zip(rows, medians) {
            print("\(row.0): \(text(time * 1e6)) µs, \(Int(1 / time)) a second")
        }
        print("hit of the session / LMDB and AES: \(text(medians[2] / medians[0]))")
        print("the stage for what cannot be stored: \(text((medians[4] - medians[3]) * 1e6)) µs")
        print("the stage for no-store: \(text((medians[6] - medians[5]) * 1e6)) µs")
        for target in try RowTable.read().targets(of: "cache-hit") where target.quantity == .rate {
            print(target.line(1 / medians[2]))
        }
    }

    /// The median time of each, in seconds.
    private static func measure(_ rows: [() async throws -> Void]) async throws -> [Double] {
        var times = [[Double]](repeating: [], count: rows.count)
        for _ in 0..<rounds {
            for (index, row) in rows.enumerated() {
                let start = cpu
                for _ in 0..<count { try await row() }
                times[index].append((cpu - start) / Double(count))
            }
        }
        return times.map { $0.sorted()[$0.count / 2] }
    }

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
    private var room = [UInt8](repeating: 0, count: CachedPage.length)

    init(_ directory: String) {
        mkdir("\(directory)/lmdb", 0o700)
        let value = [UInt8](repeating: 7, count: CachedPage.length)
        peer = cache_peer_open("\(directory)/lmdb", value, value.count)
    }

    func read() { precondition(cache_peer_read(peer, &room) == CachedPage.length) }

    deinit { cache_peer_close(peer) }
}
