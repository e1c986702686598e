import Foundation
import Glibc
import SallyportSecureStore

/// Prints the figures of Docs/SecureStore.md: the store beside SQLCipher and LMDB, in interleaved rounds.
///
///     StoreTable DIRECTORY [--records N]
@main
struct StoreTable {
    let directory: String
    let records: Int
    private let rounds = 5
    private var missed: [String] = []
    private var costs: [(Int, Double)] = []

    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        guard let directory = arguments.first else {
            print("usage: StoreTable DIRECTORY [--records N]")
            exit(64)
        }
        let index = arguments.firstIndex(of: "--records")
        let records = index.flatMap { $0 + 1 < arguments.count ? Int(arguments[$0 + 1]) : nil } ?? 1_000_000
        var table = StoreTable(directory: directory, records: records)
        try await table.run()
    }

    private init(directory: String, records: Int) { (self.directory, self.records) = (directory, records) }

    private mutating func run() async throws {
        print(
            "\(machine)\nKeys of 16 characters, values of \(Sizes.value) bytes, \(rounds) interleaved rounds, the median counts.\n"
        )
        for name in ["lmdb", "streams"] { mkdir("\(directory)/\(name)", 0o700) }
        let ours = try await SallyportPeer(at: "\(directory)/sallyport")
        let peers: [any Peer] = [ours, SQLCipherPeer(at: "\(directory)/cipher.db"), LMDBPeer(at: "\(directory)/lmdb")]
        try await batches(peers)
        try await durableWrites(peers)
        try await reads(peers, of: Self.first)
        try await concurrentWriters(ours)
        try await streams(ours)
        try await reads(peers, of: records)
        growth()
        try await care(for: ours)
        print(missed.isEmpty ? "\nEvery row reached its limit." : "\nMissed:")
        for row in missed { print("- \(row)") }
    }

    private var machine: String {
        let kind = ProcessInfo.processInfo.environment["BENCH_FILE_SYSTEM"] ?? "not told"
        return "\(sysconf(Int32(_SC_NPROCESSORS_ONLN))) cores; file system: \(kind)"
    }

    // MARK: Rows

    /// Into a store that holds 100,000 records, old and new keys in random order.
    private mutating func batches(_ peers: [any Peer]) async throws {
        let value = [UInt8](repeating: 7, count: Sizes.value)
        try await load(0..<Self.first, into: peers)
        let times = try await measure(peers, keys: { (0..<10).map { _ in Self.random(1000) } }) { peer, batches in
            for batch in batches { try await peer.write(batch, value) }
            return batches.count * 1000
        }
        show("batch writes, 1,000 in a transaction", times)
        judge("batch writes: SQLCipher / Sallyport", times[1].wall / times[0].wall, atLeast: 3)
    }

    private mutating func durableWrites(_ peers: [any Peer]) async throws {
        let value = [UInt8](repeating: 8, count: Sizes.value)
        let times = try await measure(peers, keys: { (0..<100).map { _ in Self.random(1) } }) { peer, keys in
            for key in keys { try await peer.write(key, value) }
            return keys.count
        }
        show("durable writes, one after the other", times)
    }

    private mutating func reads(_ peers: [any Peer], of count: Int) async throws {
        try await load(Self.first..<count, into: peers)
        let times = try await measure(peers, keys: { [Self.random(20_000, of: count)] }) { peer, keys in
            for keys in keys { try peer.read(keys) }
            return 20_000
        }
        show("point reads of \(count) records, a snapshot each", times)
        judge("point reads: SQLCipher / Sallyport", times[1].cpu / times[0].cpu, atLeast: 10)
        judge("point reads: Sallyport / LMDB", times[0].cpu / times[2].cpu, atMost: 3)
        costs.append((count, times[0].cpu))
    }

    private static let first = 100_000
    private static func random(_ count: Int, of all: Int = first) -> Keys {
        Keys((0..<count).map { _ in Int.random(in: 0..<all) })
    }

    private func load(_ range: Range<Int>, into peers: [any Peer]) async throws {
        let value = [UInt8](repeating: 7, count: Sizes.value)
        let shuffled = range.shuffled()
        for start in stride(from: 0, to: shuffled.count, by: 10_000) {
            let keys = Keys(shuffled[start..<min(start + 10_000, shuffled.count)])
            for peer in peers { try await peer.write(keys, value) }
        }
    }

    private mutating func concurrentWriters(_ ours: SallyportPeer) async throws {
        let value = [UInt8](repeating: 9, count: Sizes.value)
        func rate(_ writers: Int) async throws -> Double {
            let start = Clock.wall
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<writers {
                    group.addTask {
                        for _ in 0..<100 { try await ours.write(Self.random(1), value) }
                    }
                }
                try await group.waitForAll()
            }
            return Double(writers * 100) / (Clock.wall - start)
        }
        var samples: [(one: Double, many: Double)] = []
        for _ in 0..<rounds { samples.append((try await rate(1), try await rate(32))) }
        let (one, many) = (median(samples.map(\.one)), median(samples.map(\.many)))
        print("durable writers at once\n  one: \(Int(one)) a second; 32: \(Int(many)) a second")
        judge("32 durable writers / one", many / one, atLeast: 5)
    }

    private mutating func streams(_ ours: SallyportPeer) async throws {
        let length = 100 << 20
        let values = ours.store.collection("streams", of: [UInt8].self)
        let memory = MemoryPeak()
        let start = Clock.wall
        let chunk = [UInt8](repeating: 3, count: 256 << 10)
        try await ours.store.write(
            Repeated(chunk: chunk, left: length / chunk.count, memory: memory), for: "large", in: values)
        let written = Clock.wall
        var count = 0
        guard let parts = try ours.store.chunks(of: "large", in: values) else { fatalError("The value is missing.") }
        for try await part in parts {
            memory.sample()
            count += part.count
        }
        precondition(count == length)
        let read = Clock.wall
        print("a value of 100 MiB, streamed")
        print("  in \(rate(length, written - start)) MB/s, out \(rate(length, read - written)) MB/s")
        judge("streamed value: MiB over what was resident", memory.growth / 1_048_576, atMost: 32)
    }

    private mutating func growth() {
        print("a point read of ours")
        for (count, cost) in costs { print("  in \(count) records: \(number(cost * 1e6)) µs CPU") }
        // The tree has one level more at most; what the caches hold of it shrinks.
        judge("read in the largest / in the smallest", costs[costs.count - 1].1 / costs[0].1, atMost: 2)
    }

    /// Verification, a backup, and the walk of pages after an unclean close. Closes the store.
    private func care(for ours: SallyportPeer) async throws {
        let bytes = try ours.store.statistics().fileSize
        let start = Clock.wall
        guard try await ours.store.verify().isSound else { fatalError("The store is damaged.") }
        let verified = Clock.wall
        _ = try await ours.store.backup(to: "\(directory)/backup")
        let copied = Clock.wall
        ours.store.close()
        try Data("1".utf8).write(to: URL(filePath: "\(directory)/sallyport/writer"))
        let closed = Clock.wall
        let again = try await SallyportPeer(at: "\(directory)/sallyport")
        let opened = Clock.wall
        again.store.close()
        print("looking after \(bytes >> 20) MiB, seconds")
        print(
            "  verify \(number(verified - start)), backup \(number(copied - verified)), "
                + "open after an unclean close \(number(opened - closed))")
    }

    // MARK: Measuring

    private struct Time {
        let name: String
        var cpu: Double
        var wall: Double
    }

    /// Seconds an operation.
    private func measure(
        _ peers: [any Peer], keys: () -> [Keys], _ body: (any Peer, [Keys]) async throws -> Int
    ) async throws -> [Time] {
        var samples = [[Time]](repeating: [], count: peers.count)
        for _ in 0..<rounds {
            let keys = keys()
            for (index, peer) in peers.enumerated() {
                let (cpu, wall) = (Clock.cpu, Clock.wall)
                let count = Double(try await body(peer, keys))
                samples[index].append(
                    Time(name: peer.name, cpu: (Clock.cpu - cpu) / count, wall: (Clock.wall - wall) / count))
            }
        }
        return samples.map { Time(name: $0[0].name, cpu: median($0.map(\.cpu)), wall: median($0.map(\.wall))) }
    }

    private func show(_ title: String, _ times: [Time]) {
        print(title)
        for time in times {
            let name = time.name.padding(toLength: 24, withPad: " ", startingAt: 0)
            print("  \(name)\(number(time.cpu * 1e6)) µs CPU, \(number(time.wall * 1e6)) µs wall")
        }
    }

    private mutating func judge(_ row: String, _ value: Double, atLeast limit: Double) {
        judge(row, value, "≥ \(number(limit))", value >= limit)
    }

    private mutating func judge(_ row: String, _ value: Double, atMost limit: Double) {
        judge(row, value, "≤ \(number(limit))", value <= limit)
    }

    private mutating func judge(_ row: String, _ value: Double, _ limit: String, _ isReached: Bool) {
        print("    \(row)  \(number(value))  \(limit)  \(isReached ? "reached" : "missed")")
        if !isReached { missed.append("\(row) \(number(value)), limit \(limit)") }
    }

    private func rate(_ bytes: Int, _ seconds: Double) -> String { number(Double(bytes) / 1e6 / seconds) }
    private func median(_ samples: [Double]) -> Double { samples.sorted()[samples.count / 2] }
    private func number(_ value: Double) -> String { String(format: value < 100 ? "%.2f" : "%.0f", value) }
}

/// The same bytes, again and again.
struct Repeated: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let chunk: [UInt8]
    var left: Int
    let memory: MemoryPeak

    func makeAsyncIterator() -> Repeated { self }

    mutating func next() async -> [UInt8]? {
        memory.sample()
        left -= 1
        return left >= 0 ? chunk : nil
    }
}

enum Clock {
    static var cpu: Double { seconds(CLOCK_PROCESS_CPUTIME_ID) }
    static var wall: Double { seconds(CLOCK_MONOTONIC) }

    private static func seconds(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// The most memory that was resident, but for the pages of files that are mapped, which the system takes back as it
/// likes.
final class MemoryPeak: @unchecked Sendable {
    // SAFETY: sampled by one task at a time.
    private let start = MemoryPeak.resident
    private var peak = 0

    func sample() { peak = max(peak, MemoryPeak.resident) }

    var growth: Double { Double(max(0, peak - start)) }

    private static var resident: Int {
        guard let text = try? String(contentsOfFile: "/proc/self/status", encoding: .ascii),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("RssAnon:") }),
            let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return 0 }
        return kibibytes << 10
    }
}
