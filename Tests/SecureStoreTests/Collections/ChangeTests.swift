import FoundationEssentials
import Testing

@testable import SallyportSecureStore

@Suite struct ChangeTests {
    @Test func changesComeInTheOrderOfCommitsAndOfThisCollectionOnly() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        let others: StoreCollection<String, String> = store.collection("o", of: String.self)
        var changes = store.changes(in: texts).makeAsyncIterator()
        try await store.write { transaction in
            try transaction.set("1", for: "a", in: texts)
            try transaction.set("1", for: "x", in: others)
            try transaction.remove("nothing", from: texts)
        }
        try await store.write { try $0.remove("a", from: texts) }
        try await store.write { try $0.removeAll(from: texts) }
        #expect(await changes.next() == .set("a"))
        #expect(await changes.next() == .removed("a"))
        #expect(await changes.next() == .removedAll)
        store.close()
        #expect(await changes.next() == nil)
    }

    @Test func changesThatWereNotKeptAreNotReported() async throws {
        struct Refused: Error {}
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        var changes = store.changes(in: texts).makeAsyncIterator()
        try? await store.write { transaction in
            try transaction.set("1", for: "a", in: texts)
            throw Refused()
        }
        try await store.write { try $0.set("1", for: "b", in: texts) }
        #expect(await changes.next() == .set("b"))
    }

    /// A change is told when it can be read.
    @Test func aReaderThatWaitsIsWokenByTheCommit() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<Int, String> = store.collection("t", of: String.self, keyedBy: Int.self)
        let changes = store.changes(in: texts)
        let reader = Task { () throws in
            var seen: [Int] = []
            for await change in changes {
                guard case .set(let key) = change else { continue }
                #expect(try store.read { try $0.value(for: key, in: texts) } == "\(key)")
                seen.append(key)
                if seen.count == 20 { break }
            }
            return seen
        }
        for key in 0..<20 { try await store.write { try $0.set("\(key)", for: key, in: texts) } }
        #expect(try await reader.value == Array(0..<20))
    }

    @Test func oneOverTheLimitDropsAllThatWaitAndSaysSo() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<Int, String> = store.collection("t", of: String.self, keyedBy: Int.self)
        let limit = SecureStore.maximumPendingChanges
        var full = store.changes(in: texts).makeAsyncIterator()
        try await store.write { for key in 0..<limit { try $0.set("", for: key, in: texts) } }
        #expect(await full.next() == .set(0), "as many as the limit are kept")

        var over = store.changes(in: texts).makeAsyncIterator()
        try await store.write { for key in 0...limit { try $0.set("", for: key, in: texts) } }
        #expect(await over.next() == .missed)
        #expect(await over.next() == .set(limit))
        try await store.write { try $0.remove(3, from: texts) }
        #expect(await over.next() == .removed(3))
    }

    @Test func aCancelledReaderEnds() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        let changes = store.changes(in: texts)
        let reader = Task {
            for await _ in changes {}
            return true
        }
        reader.cancel()
        #expect(await reader.value)
        store.close()
        var late = store.changes(in: texts).makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    @Test(.timeLimit(.minutes(1))) func readersOfOneSequenceShareItsChangesAndAreCancelledEachAlone() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        let changes = store.changes(in: texts)
        /// Returns when the reader waits, behind `others`.
        func reader(behind others: Int) async -> Task<StoreChange<String>?, Never> {
            let task = Task { () async -> StoreChange<String>? in
                var iterator = changes.makeAsyncIterator()
                return await iterator.next()
            }
            while changes.watcher.waitingReaders <= others { await Task.yield() }
            return task
        }
        let cancelled = await reader(behind: 0)
        let first = await reader(behind: 1)
        let second = await reader(behind: 2)
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        try await store.write { transaction in
            for key in ["a", "b"] { try transaction.set("1", for: key, in: texts) }
        }
        #expect(await first.value == .set("a"))
        #expect(await second.value == .set("b"))
        let last = await reader(behind: 0)
        store.close()
        #expect(await last.value == nil)
    }
}
