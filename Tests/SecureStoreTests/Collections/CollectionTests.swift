import FoundationEssentials
import SallyportSecureStore
import Testing

@Suite struct CollectionTests {
    private func roundTrip<Key: StoreKey>(_ keys: [Key]) async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<Key, String> = store.collection("t", of: String.self, keyedBy: Key.self)
        try await store.write { for key in keys { try $0.set("\(key)", for: key, in: texts) } }
        try store.read { snapshot throws in
            for key in keys { #expect(try snapshot.value(for: key, in: texts) == "\(key)") }
            #expect(Set(try snapshot.all(in: texts).map(\.0)) == Set(keys))
            #expect(try snapshot.keys(in: texts).count == keys.count)
        }
    }

    @Test func keysOfEveryKindComeBack() async throws {
        try await roundTrip(["", "a", "ä", "\u{0}", String(repeating: "k", count: 4096)])
        try await roundTrip([Int.min, -1, 0, 1, .max])
        try await roundTrip([Int64.min, -1, 0, 1, .max])
        try await roundTrip([Int32.min, -1, 0, 1, .max])
        try await roundTrip([UInt64.min, 1, .max])
        try await roundTrip([UInt32.min, 1, .max])
        try await roundTrip((0..<5).map { _ in UUID() })
        try await roundTrip([[UInt8](), [0], [0, 0], [255]])
    }

    @Test func keysSortLikeNumbersAndBytes() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let numbers: StoreCollection<Int, Int> = store.collection("n", of: Int.self, keyedBy: Int.self)
        let keys = [5, -7, 0, .max, .min, 300, -1, 256]
        try await store.write { for key in keys { try $0.set(key, for: key, in: numbers) } }
        try store.read { snapshot throws in
            #expect(try snapshot.keys(in: numbers) == keys.sorted())
            #expect(try snapshot.keys(in: numbers, from: -1, upTo: 256) == [-1, 0, 5])
            var seen: [Int] = []
            try snapshot.forEachInOrder(in: numbers, from: 0) { key, value in
                #expect(key == value)
                seen.append(key)
                return seen.count < 3
            }
            #expect(seen == [0, 5, 256])
        }
        let texts: StoreCollection<String, Int> = store.collection("t", of: Int.self)
        try await store.write { for key in ["b", "a", "", "ab", "B"] { try $0.set(1, for: key, in: texts) } }
        #expect(try store.read { try $0.keys(in: texts) } == ["", "B", "a", "ab", "b"])
    }

    @Test func oneWriteChangesSeveralCollectionsOrNone() async throws {
        struct Refused: Error {}
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let from: StoreCollection<String, Int> = store.collection("from", of: Int.self)
        let to: StoreCollection<UUID, Int> = store.collection("to", of: Int.self, keyedBy: UUID.self)
        let id = UUID()
        try await store.write { try $0.set(100, for: "a", in: from) }
        for isRefused in [true, false] {
            try? await store.write { transaction in
                try transaction.remove("a", from: from)
                try transaction.set(100, for: id, in: to)
                #expect(try transaction.count(of: from) == 0)
                if isRefused { throw Refused() }
            }
            try store.read { snapshot throws in
                #expect(try snapshot.value(for: "a", in: from) == (isRefused ? 100 : nil))
                #expect(try snapshot.value(for: id, in: to) == (isRefused ? nil : 100))
                #expect(try snapshot.count(of: from) == (isRefused ? 1 : 0))
            }
        }
    }

    @Test func namesHaveLimits() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        for (name, isGood) in [("", false), (String(repeating: "n", count: 257), false), ("n", true)] {
            let texts: StoreCollection<String, Int> = store.collection(name, of: Int.self)
            do {
                try await store.write { try $0.set(1, for: "a", in: texts) }
                #expect(isGood)
            } catch let error as StoreError {
                #expect(!isGood && error.code == .invalidName)
            }
        }
    }

    @Test func aSnapshotStaysAsItWas() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let numbers: StoreCollection<Int, Int> = store.collection("n", of: Int.self, keyedBy: Int.self)
        try await store.write { for key in 0..<50 { try $0.set(0, for: key, in: numbers) } }
        let held = await HeldSnapshot(of: store) { try $0.all(in: numbers).map(\.1) }
        try await store.write { for key in 0..<60 { try $0.set(1, for: key, in: numbers) } }
        #expect(try await held.release() == [Int](repeating: 0, count: 50))
        #expect(try store.read { try $0.all(in: numbers).map(\.1) } == [Int](repeating: 1, count: 60))
    }

    @Test func statisticsCountWhatIsThere() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let names = ["b", "a", "c"]
        for (index, name) in names.enumerated() {
            let numbers: StoreCollection<Int, Int> = store.collection(name, of: Int.self, keyedBy: Int.self)
            try await store.write { for key in 0...index { try $0.set(key, for: key, in: numbers) } }
        }
        let hidden: StoreCollection<Int, Int> = store.reservedCollection("h", of: Int.self, keyedBy: Int.self)
        try await store.write { try $0.set(1, for: 1, in: hidden, expiresAt: Date() + 3600) }
        let statistics = try store.statistics()
        #expect(statistics.collections.map(\.name) == ["a", "b", "c"], "reserved ones are not listed")
        #expect(statistics.collections.map(\.records) == [2, 1, 3])
        #expect(statistics.records == 6 + 1 + 1)
        #expect(statistics.expiringRecords == 1)
        #expect(statistics.commits == 4 && statistics.writes >= 4)
        #expect(statistics.dataKeys == 1 && statistics.readers == 0)
        #expect(statistics.usedSize > 0 && statistics.usedSize <= statistics.fileSize)
        #expect(statistics.mapSize >= statistics.fileSize)
        #expect(try store.read { _ in try store.statistics().readers } == 1)
        store.close()
        #expect(throws: StoreError.self) { try store.statistics() }
    }
}
