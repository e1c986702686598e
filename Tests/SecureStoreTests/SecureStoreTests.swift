import FoundationEssentials
import SallyportSecureStore
import Testing

@Suite struct SecureStoreTests {
    @Test func aValueIsThereAfterReopening() async throws {
        let fixture = try StoreFixture()
        let first = try await fixture.open()
        let ann = Profile(name: "Ann", age: 30)
        try await first.write { try $0.set(ann, for: "ann", in: first.collection("profiles", of: Profile.self)) }
        first.close()
        let second = try await fixture.open()
        let profiles: StoreCollection<String, Profile> = second.collection("profiles", of: Profile.self)
        #expect(try second.read { try $0.value(for: "ann", in: profiles) } == ann)
        #expect(try second.read { try $0.value(for: "bob", in: profiles) } == nil)
        #expect(try second.read { try $0.count(of: profiles) } == 1)
    }

    @Test func aWriteThatThrowsKeepsNothing() async throws {
        struct Refused: Error {}
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("texts", of: String.self)
        await #expect(throws: Refused.self) {
            try await store.write { transaction in
                try transaction.set("half", for: "a", in: texts)
                throw Refused()
            }
        }
        #expect(try store.read { try $0.all(in: texts) }.isEmpty)
        try store.read { try $0.verify(texts) }
    }

    /// Counts, and writes each number in the turn in which it was counted.
    private actor Counter {
        struct Refused: Error {}

        private let store: SecureStore
        private let numbers: StoreCollection<String, Int>
        private var count = 0

        init(_ store: SecureStore, _ numbers: StoreCollection<String, Int>) {
            (self.store, self.numbers) = (store, numbers)
        }

        func next() async throws {
            count += 1
            try await store.write { [count, numbers] in try $0.set(count, for: "count", in: numbers) }
            preconditionIsolated()
        }

        func fail() async {
            try? await store.write { _ in throw Refused() }
            preconditionIsolated()
        }
    }

    @Test func theWritesOfAnActorKeepTheirOrder() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let numbers: StoreCollection<String, Int> = store.collection("numbers", of: Int.self)
        let counter = Counter(store, numbers)
        for round in 1...20 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<20 { group.addTask { try await counter.next() } }
                group.addTask { await counter.fail() }
                try await group.waitForAll()
            }
            #expect(try store.read { try $0.value(for: "count", in: numbers) } == round * 20)
        }
    }

    @Test func oneWritersFailureDoesNotTouchTheOthersOfItsGroup() async throws {
        struct Refused: Error {}
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let numbers: StoreCollection<Int64, String> = store.collection("n", of: String.self, keyedBy: Int64.self)
        await withTaskGroup(of: Void.self) { group in
            for index in Int64(0)..<200 {
                group.addTask {
                    try? await store.write { transaction in
                        try transaction.set("\(index)", for: index, in: numbers)
                        if index % 3 == 0 { throw Refused() }
                    }
                }
            }
        }
        let kept = try store.read { try $0.all(in: numbers) }
        #expect(Set(kept.map(\.0)) == Set((0..<200).filter { $0 % 3 != 0 }))
        try store.read { try $0.verify(numbers) }
    }

    @Test func aTransactionSeesItsOwnChangesAndIsDeadAfterwards() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("texts", of: String.self)
        try await store.write { transaction in
            try transaction.set("one", for: "a", in: texts)
            #expect(try transaction.value(for: "a", in: texts) == "one")
            try transaction.remove("a", from: texts)
            #expect(try transaction.value(for: "a", in: texts) == nil)
            try transaction.set("two", for: "b", in: texts)
            #expect(try transaction.all(in: texts).map(\.0) == ["b"])
            try transaction.removeAll(from: texts)
            #expect(try transaction.all(in: texts).isEmpty)
        }
        let escaped = try store.read { $0 }
        #expect(throws: StoreError.self) { try escaped.value(for: "a", in: texts) }
        // Readings that come later do not bring it back to life.
        try store.read { snapshot in
            _ = try snapshot.value(for: "a", in: texts)
            #expect(throws: StoreError.self) { try escaped.value(for: "a", in: texts) }
        }
    }

    @Test func manyValuesMakeTheMapGrowUnderReaders() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let blobs: StoreCollection<Int64, [UInt8]> = store.collection("b", of: [UInt8].self, keyedBy: Int64.self)
        let reader = Task {
            while !Task.isCancelled { _ = try store.read { try $0.value(for: 0, in: blobs) } }
        }
        for index in Int64(0)..<48 {
            try await store.write { try $0.set([UInt8](repeating: 7, count: 1 << 20), for: index, in: blobs) }
        }
        reader.cancel()
        _ = await reader.result
        #expect(try store.read { try $0.count(of: blobs) } == 48)
        #expect(try store.read { try $0.value(for: 47, in: blobs) }?.count == 1 << 20)
    }

    @Test func aSmallMaximumEndsInFullAndKeepsWhatWasThere() async throws {
        let fixture = try StoreFixture()
        var options = StoreOptions()
        options.maximumSize = 1 << 20
        let store = try await fixture.open(options)
        let blobs: StoreCollection<String, [UInt8]> = store.collection("b", of: [UInt8].self)
        try await store.write { try $0.set([1, 2, 3], for: "small", in: blobs) }
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try $0.set([UInt8](repeating: 0, count: 4 << 20), for: "large", in: blobs) }
        }
        #expect(error?.code == .full)
        #expect(try store.read { try $0.value(for: "small", in: blobs) } == [1, 2, 3])
    }

    @Test func limitsHoldOneOver() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let blobs: StoreCollection<[UInt8], [UInt8]> = store.collection("b", of: [UInt8].self, keyedBy: [UInt8].self)
        let longest = [UInt8](repeating: 1, count: SecureStore.maximumKeyLength)
        try await store.write { try $0.set([], for: longest, in: blobs) }
        #expect(try store.read { try $0.value(for: longest, in: blobs) } == [])
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try $0.set([], for: longest + [1], in: blobs) }
        }
        #expect(error?.code == .tooLarge)
    }

    @Test func publicNamesNeverReachTheReservedOnes() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let hidden: StoreCollection<String, String> = store.reservedCollection("cookies", of: String.self)
        try await store.write { try $0.set("secret", for: "a", in: hidden) }
        for name in ["cookies", "reserved\0cookies", "\0cookies", "reserved"] {
            let visible: StoreCollection<String, String> = store.collection(name, of: String.self)
            #expect(try store.read { try $0.value(for: "a", in: visible) } == nil)
        }
    }

    @Test func neitherNamesNorValuesLieInTheFiles() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("planted-collection", of: String.self)
        try await store.write { try $0.set("planted-value-4711", for: "planted-key-4711", in: texts) }
        store.close()
        for text in ["planted-collection", "planted-value-4711", "planted-key-4711"] {
            #expect(try !fixture.contains(text), "\(text) lies in the clear")
        }
        #expect(try fixture.contains("SPKEYS"), "the search finds what is there")
    }

    @Test func randomTransactionsAgreeWithADictionary() async throws {
        let fixture = try StoreFixture()
        var store = try await fixture.open()
        var model: [String: String] = [:]
        var generator = SeededGenerator(seed: 11)
        for round in 0..<60 {
            let texts: StoreCollection<String, String> = store.collection("texts", of: String.self)
            let changes = (0..<Int.random(in: 1...20, using: &generator)).map { _ in
                (key: "k\(Int.random(in: 0..<40, using: &generator))", isSet: Bool.random(using: &generator))
            }
            try await store.write { transaction in
                for (index, change) in changes.enumerated() {
                    if change.isSet {
                        try transaction.set("\(round).\(index)", for: change.key, in: texts)
                    } else {
                        try transaction.remove(change.key, from: texts)
                    }
                }
            }
            for (index, change) in changes.enumerated() {
                model[change.key] = change.isSet ? "\(round).\(index)" : nil
            }
            if round % 15 == 14 {
                store.close()
                store = try await fixture.open()
            }
            let reopened: StoreCollection<String, String> = store.collection("texts", of: String.self)
            let all = try store.read { snapshot in
                try snapshot.verify(reopened)
                return try snapshot.all(in: reopened)
            }
            #expect(Dictionary(uniqueKeysWithValues: all) == model)
        }
    }
}

/// SplitMix64: the same sequence for the same seed.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
