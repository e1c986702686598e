import FoundationEssentials
import Testing

@testable import SallyportSecureStore

@Suite struct GroupCommitTests {
    private struct Refused: Error {}

    /// Holds the writer's thread until `count` more writers wait, so that they are one group.
    private func together(
        _ count: Int, in store: SecureStore, _ body: @escaping @Sendable (Int) async -> Void
    ) async throws {
        let (gatekeeper, begun) = (Gatekeeper(), AsyncStream<Void>.makeStream())
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                try? await store.write { _ in
                    begun.continuation.finish()
                    gatekeeper.wait()
                }
            }
            for await _ in begun.stream {}
            for index in 0..<count { group.addTask { await body(index) } }
            let end = ContinuousClock.now + .seconds(240)
            while store.writer?.waiting ?? 0 < count, ContinuousClock.now < end {
                try? await Task.sleep(for: .milliseconds(1))
            }
            #expect(store.writer?.waiting == count, "all wait together")
            gatekeeper.open()
        }
    }

    @Test func writersThatWaitTogetherShareOneCommit() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let numbers: StoreCollection<Int, Int> = store.collection("n", of: Int.self, keyedBy: Int.self)
        try await store.write { try $0.set(0, for: -1, in: numbers) }
        let before = try store.statistics()
        try await together(100, in: store) { index in
            try? await store.write { try $0.set(index, for: index, in: numbers) }
        }
        let after = try store.statistics()
        #expect(after.lastCommit == before.lastCommit + 1, "LMDB's own count of commits, each of which syncs")
        #expect(after.commits == before.commits + 1)
        #expect(after.writes == before.writes + 101)
        #expect(try store.read { try $0.count(of: numbers) } == 101)
    }

    @Test func eachSeesThoseBeforeItAndNothingOfOneThatFailed() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let numbers: StoreCollection<Int, Int> = store.collection("n", of: Int.self, keyedBy: Int.self)
        try await together(60, in: store) { index in
            try? await store.write { transaction in
                let sum = try transaction.value(for: 0, in: numbers) ?? 0
                #expect(try transaction.count(of: numbers) <= 1)
                try transaction.set(sum + 1, for: 0, in: numbers)
                if index % 3 == 0 {
                    try transaction.set(1, for: 7, in: numbers)
                    throw Refused()
                }
            }
        }
        #expect(try store.read { try $0.value(for: 0, in: numbers) } == 40)
        #expect(try store.read { try $0.count(of: numbers) } == 1)
        #expect(try await store.verify().isSound)
    }

    /// One that is too large for the store fails alone, though it shared a transaction with others.
    @Test func oneThatDoesNotFitFailsAlone() async throws {
        let fixture = try StoreFixture()
        var options = StoreOptions()
        options.maximumSize = 2 << 20
        let store = try await fixture.open(options)
        let blobs: StoreCollection<Int, [UInt8]> = store.collection("b", of: [UInt8].self, keyedBy: Int.self)
        let failures = Failures()
        try await together(20, in: store) { index in
            do {
                try await store.write { transaction in
                    let size = index == 7 ? 4 << 20 : 100
                    try transaction.set([UInt8](repeating: 1, count: size), for: index, in: blobs)
                }
            } catch { await failures.add(index, error) }
        }
        #expect(await failures.codes == [7: .full])
        #expect(try store.read { try $0.keys(in: blobs) } == (0..<20).filter { $0 != 7 })
        #expect(try await store.verify().isSound)
    }

    /// Counted where the process calls the system: LMDB syncs its pages once and writes its meta page once, durably.
    @Test func aHundredWritersSyncAsOftenAsOne() throws {
        let recording = try Recording(of: "group", in: StoreFixture())
        var counts: [String: Int] = [:]
        var last = ""
        for entry in recording.entries {
            switch entry {
            case .said(let text): last = text
            case .synced, .wrote(_, _, _, isDurable: true): counts[last, default: 0] += 1
            default: break
            }
        }
        #expect(counts["one"] == 2)
        #expect(counts["hundred"] == 2)
    }

    private actor Failures {
        private(set) var codes: [Int: StoreError.Code] = [:]
        func add(_ index: Int, _ error: any Error) { codes[index] = (error as? StoreError)?.code }
    }
}
