import FoundationEssentials
import StoreWorkload
import Testing

@testable import SallyportSecureStore

/// Collections that disclose the order of their keys, against sorted arrays.
@Suite struct OrderTests {
    private let fixture: StoreFixture
    private let store: SecureStore
    private let texts: StoreCollection<Int, String>

    init() async throws {
        fixture = try StoreFixture()
        store = try await fixture.open()
        texts = store.collection("t", of: String.self, keyedBy: Int.self, order: .ordered)
    }

    private func set(_ keys: [Int]) async throws {
        try await store.write { [texts] in for key in keys { try $0.set("\(key)", for: key, in: texts) } }
    }

    private func check(_ keys: [Int], sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try store.read { snapshot in
            let found = try snapshot.keys(in: texts)
            #expect(found == keys.sorted(), sourceLocation: sourceLocation)
            try snapshot.verify(texts)
        }
        #expect(try await store.verify().isSound, sourceLocation: sourceLocation)
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func theOrderIsThatOfTheKeys(_ seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        var keys: Set<Int> = []
        for _ in 0..<20 {
            let (new, gone) = (0..<30).reduce(into: ([Int](), [Int]())) { found, _ in
                found.0.append(Int.random(in: -200..<200, using: &generator))
                found.1.append(Int.random(in: -200..<200, using: &generator))
            }
            try await store.write { [texts] transaction in
                for (key, other) in zip(new, gone) {
                    try transaction.set("\(key)", for: key, in: texts)
                    try transaction.remove(other, from: texts)
                }
            }
            for (key, other) in zip(new, gone) {
                keys.insert(key)
                keys.remove(other)
            }
            try await check(Array(keys))
            let (lower, upper) = (new[0], new[0] + 50)
            let range = try store.read { try $0.keys(in: texts, from: lower, upTo: upper) }
            #expect(range == keys.filter { (lower..<upper).contains($0) }.sorted())
        }
    }

    /// What exhausts the labels between two entries soonest.
    @Test func roomIsMadeWhereKeysComeBetweenTheSameTwo() async throws {
        try await set([0, 10_000])
        for start in stride(from: 1, to: 400, by: 100) { try await set(Array(start..<start + 100)) }
        try await check([0, 10_000] + Array(1...400))
        let descending = Array((500..<900).reversed())
        try await set(descending)
        try await check([0, 10_000] + Array(1...400) + descending)
        // Inwards from both sides, in transactions of their own.
        let inwards = (0..<150).flatMap { [2000 + $0, 3000 - $0] }
        for key in inwards { try await set([key]) }
        try await check([0, 10_000] + Array(1...400) + descending + inwards)
    }

    @Test func writersAtOnceShareTheOrder() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<40 {
                group.addTask { try await set([writer, 1000 - writer, writer * 7 + 2000]) }
            }
            try await group.waitForAll()
        }
        try await check((0..<40).flatMap { [$0, 1000 - $0, $0 * 7 + 2000] })
    }

    @Test func aRolledBackWriteIsNotInTheOrder() async throws {
        struct Refused: Error {}
        try await set([2, 4])
        _ = try? await store.write { [texts] in
            try $0.set("3", for: 3, in: texts)
            throw Refused()
        }
        try await check([2, 4])
    }

    @Test func valuesChangeInTheirPlace() async throws {
        try await set([1, 2, 3])
        try await store.write { [texts] in try $0.set("two", for: 2, in: texts) }
        var seen: [String] = []
        try store.read { snapshot in
            try snapshot.forEachInOrder(in: texts, from: 2) { _, value in
                seen.append(value)
                return true
            }
        }
        #expect(seen == ["two", "3"])
        try await check([1, 2, 3])
    }

    @Test func expiredOnesAreNotSeenAndLeaveWithTheSweep() async throws {
        try await set([1, 3])
        try await store.write { [texts] in
            try $0.set("2", for: 2, in: texts, expiresAt: Date(timeIntervalSinceNow: -1))
        }
        try await check([1, 3])
        #expect(try await store.sweep() == 1)
        try await check([1, 3])
        try await store.write { [texts] in try $0.removeAll(from: texts) }
        try await check([])
    }

    @Test func streamedValuesStandInTheOrder() async throws {
        let large = store.collection("l", of: [UInt8].self, keyedBy: Int.self, order: .ordered)
        let chunks = AsyncStream { continuation in
            for byte in 0..<4 { continuation.yield([UInt8](repeating: UInt8(byte), count: 100_000)) }
            continuation.finish()
        }
        try await store.write { try $0.set([1], for: 1, in: large) }
        try await store.write { try $0.set([3], for: 3, in: large) }
        try await store.write(chunks, for: 2, in: large)
        var lengths: [Int] = []
        try store.read { snapshot in
            try snapshot.forEachInOrder(in: large) { _, value in
                lengths.append(value.count)
                return true
            }
        }
        #expect(lengths == [1, 400_000, 1])
    }

    @Test func rotationKeepsTheOrder() async throws {
        try await set(Array(0..<300))
        try await store.rotateDataKey()
        try await store.finishRotation()
        try await check(Array(0..<300))
    }

    @Test func anUnorderedCollectionOfTheSameNameIsAnother() async throws {
        try await set([1])
        let other = store.collection("t", of: String.self, keyedBy: Int.self)
        #expect(try store.read { try $0.count(of: other) } == 0)
    }

    @Test func aRangeIsReadWithoutTheOthers() async throws {
        try await set(Array(0..<100))
        // A record that would be found damaged if it were read.
        let place = texts.cipher.place(of: 90.storeBytes)
        try await store.write { $0.overwrite(place, with: [0]) }
        #expect(try store.read { try $0.keys(in: texts, from: 10, upTo: 20) } == Array(10..<20))
        let error = #expect(throws: StoreError.self) { try store.read { try $0.keys(in: texts) } }
        #expect(error?.code == .damaged)
    }

    @Test func aDamagedRecordIsReplacedInItsPlaceOrRemoved() async throws {
        try await set([1, 2, 3])
        for key in [1, 2] {
            let place = texts.cipher.place(of: key.storeBytes)
            try await store.write { $0.overwrite(place, with: [0]) }
        }
        try await set([2])
        try await store.write { [texts] in try $0.remove(1, from: texts) }
        #expect(try store.read { try $0.keys(in: texts) } == [2, 3])
    }

    /// An entry that someone took out hides its record from the order; the index's sum tells.
    @Test func aMissingEntryIsFound() async throws {
        try await set([1, 2, 3])
        let index = OrderIndex(of: texts.cipher.identifier, in: store.ring)
        let label = try store.read { try $0.position(of: 2.storeBytes, in: index).own }
        let place = index.place(of: try #require(label))
        try await store.write { $0.overwrite(place, with: nil) }
        #expect(try store.read { try $0.keys(in: texts) } == [1, 3])
        let error = #expect(throws: StoreError.self) { try store.read { try $0.verify(texts) } }
        #expect(error?.code == .damaged)
        #expect(try await !store.verify().isSound)
    }

    @Test func theFileSaysNothingOfTheKeys() async throws {
        let names = store.collection("n", of: Int.self, order: .ordered)
        try await store.write { try $0.set(1, for: "remarkable", in: names) }
        #expect(try !fixture.contains("remarkable"))
    }
}

@Suite struct OrderLabelTests {
    private func label(_ number: UInt128) -> OrderLabel { OrderLabel(number: number) }

    @Test func bytesSortLikeLabels() {
        let labels = [label(0), label(1), label(255), label(256), label(1 << 127), label(.max)]
        #expect(labels.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) } == labels.map(\.bytes))
        #expect(labels.map { OrderLabel(bytes: $0.bytes) } == labels)
        #expect(OrderLabel(bytes: [1, 2]) == nil)
    }

    @Test func betweenNeighboursOrNotAtAll() {
        #expect(OrderLabel.between(nil, nil) == label(1 << 127))
        #expect(OrderLabel.between(label(4), label(7)) == label(5))
        #expect(OrderLabel.between(label(4), label(5)) == nil)
        #expect(OrderLabel.between(label(.max - 1), nil) == nil)
        #expect(OrderLabel.between(nil, label(3)) == nil)
    }

    @Test func spreadingKeepsItsDistance() throws {
        #expect(OrderLabel.spread(3, between: label(0), and: label(1 << 33)) == nil)
        let labels = try #require(OrderLabel.spread(3, between: label(7), and: .greatest))
        #expect(labels.map(\.number) == [1, 2, 3].map { 7 + $0 << 64 })
        let all = OrderLabel.spread(5)
        #expect(all == all.sorted() && Set(all).count == 5)
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func sortedLabelsAreAsASortedArray(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var (labels, model) = (SortedLabels(), Set<UInt128>())
        for _ in 0..<200 {
            var other = SortedLabels()
            for _ in 0..<3 {
                let number = UInt128(UInt8.random(in: 0...255, using: &generator))
                other.insert(label(number))
                model.insert(number)
            }
            labels.formUnion(other)
            let sought = UInt128(UInt8.random(in: 0...255, using: &generator))
            #expect(labels.first(from: label(sought))?.number == model.filter { $0 >= sought }.min())
            #expect(labels.last(upTo: label(sought))?.number == model.filter { $0 <= sought }.max())
        }
    }
}
