import FoundationEssentials
import Testing

@testable import SallyportSecureStore

@Suite struct RecordCipherTests {
    private let ring = KeyRing.generate()

    private func cipher(_ number: UInt8) -> RecordCipher { ring.cipher(ofCollection: [number]) }

    @Test func aRecordOpensOnlyAtItsPlaceAndInItsCollection() throws {
        let place = cipher(1).place(of: [10])
        let record = try cipher(1).seal(Record(key: [10], value: [20, 30], expiry: 7, isStreamed: true), at: place)
        let opened = try cipher(1).open(record, at: place)
        #expect(opened.key == [10] && opened.value == [20, 30] && opened.expiry == 7 && opened.isStreamed)
        #expect(throws: StoreError.self) { try cipher(1).open(record, at: cipher(1).place(of: [11])) }
        #expect(throws: StoreError.self) { try cipher(2).open(record, at: place) }
        let other = KeyRing.generate().cipher(identifier: cipher(1).identifier)
        #expect(throws: StoreError.self) { try other.open(record, at: place) }
    }

    @Test(arguments: [nil, 7 as UInt64]) func everyFlippedBitIsRefused(_ expiry: UInt64?) throws {
        let place = cipher(1).place(of: [10])
        let record = try cipher(1).seal(Record(key: [10], value: [20, 30], expiry: expiry), at: place)
        for bit in 0..<record.count * 8 {
            var flipped = record
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: StoreError.self) { try cipher(1).open(flipped, at: place) }
        }
        for length in 0..<record.count {
            #expect(throws: StoreError.self) { try cipher(1).open(Array(record.prefix(length)), at: place) }
        }
    }

    @Test func equalValuesNeverGiveEqualRecords() throws {
        let place = cipher(1).place(of: [10])
        let records = try (0..<1000).map { _ in try cipher(1).seal(key: [10], value: [], at: place) }
        #expect(Set(records.map { $0[5..<29] }).count == 1000, "a nonce was used twice")
    }
}

@Suite struct SummaryTests {
    @Test func missingAddedAndOlderRecordsAreFound() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        try await store.write { try $0.set("old", for: "a", in: texts) }
        let place = texts.cipher.place(of: "a".storeBytes)
        try await store.write { try $0.set("new", for: "a", in: texts) }
        try await store.write { try $0.set("other", for: "b", in: texts) }
        try store.read { try $0.verify(texts) }

        let older = try texts.cipher.seal(key: "a".storeBytes, value: Array("\"old\"".utf8), at: place)
        for record in [older, nil] {
            // What someone with a hand on the file, and with an old copy of the record, could do.
            try await store.write { $0.overwrite(place, with: record) }
            let error = #expect(throws: StoreError.self) { try store.read { try $0.verify(texts) } }
            #expect(error?.code == .damaged)
        }
    }

    /// A flipped bit in a branch page can hide a collection's sum, and not its records.
    @Test func aRecordWhoseSumIsHiddenIsNotReplacedButCanBeRemoved() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("letters", of: String.self)
        try await store.write { try $0.set("A", for: "a", in: texts) }
        try await store.write { $0.overwrite(texts.cipher.identifier, with: nil) }
        let replaced = await #expect(throws: StoreError.self) {
            try await store.write { try $0.set("B", for: "a", in: texts) }
        }
        #expect(replaced?.code == .damaged && replaced?.message.contains("letters") == true)
        #expect(try store.read { try $0.value(for: "a", in: texts) } == "A")
        try await store.write { try $0.removeAll(from: texts) }
        #expect(try store.read { try $0.value(for: "a", in: texts) } == nil)
        #expect(try store.statistics().records == 0)
    }

    @Test(arguments: [CollectionOrder.unordered, .ordered])
    func aRecordWhoseSumDoesNotOpenIsNotReplacedButCanBeRemoved(order: CollectionOrder) async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let letters: StoreCollection<String, String> = store.collection("letters", of: String.self, order: order)
        let others: StoreCollection<String, String> = store.collection("others", of: String.self)
        try await store.write { transaction in
            for key in ["a", "b"] { try transaction.set(key, for: key, in: letters) }
            try transaction.set("c", for: "c", in: others)
        }
        try await store.flipSum(of: letters.cipher)
        if order == .ordered {
            try await store.flipSum(of: OrderIndex(of: letters.cipher.identifier, in: store.ring).cipher)
        }
        let refused = await #expect(throws: StoreError.self) {
            try await store.write { try $0.set("new", for: "a", in: letters) }
        }
        #expect(refused?.code == .damaged && refused?.message.contains("letters") == true)
        try await store.write { try $0.set("new", for: "c", in: others) }
        try await store.write { try $0.remove("a", from: letters) }
        #expect(try store.read { try $0.value(for: "a", in: letters) } == nil)
        #expect(try store.read { try $0.value(for: "b", in: letters) } == "b")
        try await store.write { try $0.removeAll(from: letters) }
        try await store.write { try $0.set("new", for: "d", in: letters) }
        #expect(try store.read { try $0.all(in: letters).map(\.0) } == ["d"])
        let report = try await store.verify()
        #expect(report.isSound, "\(report.findings)")
    }

    @Test func aRecordWhoseTagWasDamagedLeavesTheSumOfAnEmptiedCollectionRight() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("letters", of: String.self)
        func isSound() async throws -> Bool { try await store.verify().isSound }

        try await store.write { try $0.set("A", for: "a", in: texts) }
        try await store.flipTag(at: texts.cipher.place(of: "a".storeBytes))
        try await store.write { try $0.remove("a", from: texts) }
        #expect(try await isSound(), "removed")

        try await store.write { transaction in
            for key in ["a", "b"] { try transaction.set(key, for: key, in: texts) }
        }
        try await store.flipTag(at: texts.cipher.place(of: "a".storeBytes))
        try await store.write { try $0.set("new", for: "a", in: texts) }
        #expect(try await !isSound(), "overwritten: the sum cannot be told from one of other records")
        try await store.write { try $0.removeAll(from: texts) }
        try await store.write { try $0.set("new", for: "a", in: texts) }
        #expect(try await isSound(), "removed and written again")
    }

    @Test func countsOfAnySizeAreAddedUp() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let sum = try #require(CollectionSummary(bytes: [UInt8](repeating: 255, count: 40)))
        for name in ["a", "b"] {
            let texts: StoreCollection<String, String> = store.collection(name, of: String.self)
            let place = texts.cipher.identifier
            let record = try texts.cipher.seal(key: texts.fullName, value: sum.bytes, at: place)
            try await store.write { $0.overwrite(place, with: record) }
        }
        #expect(try store.statistics().records == .max)
    }

    @Test func aRecordCopiedOverAnotherIsRefusedAndNamed() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("letters", of: String.self)
        try await store.write { transaction in
            try transaction.set("A", for: "a", in: texts)
            try transaction.set("B", for: "b", in: texts)
        }
        let foreign = try texts.cipher.seal(
            key: "b".storeBytes, value: Array("\"B\"".utf8), at: texts.cipher.place(of: "b".storeBytes))
        try await store.write { $0.overwrite(texts.cipher.place(of: "a".storeBytes), with: foreign) }
        let error = #expect(throws: StoreError.self) { try store.read { try $0.value(for: "a", in: texts) } }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("letters") == true)
        #expect(try store.read { try $0.value(for: "b", in: texts) } == "B")
    }
}

/// What a damaged disk does.
extension SecureStore {
    /// Flips a bit in the count and sum of a collection.
    func flipSum(of cipher: RecordCipher) async throws {
        try await change(at: cipher.identifier) { $0[40] ^= 1 }
    }

    /// Flips a bit in the tag of a record, which is its end.
    func flipTag(at place: [UInt8]) async throws {
        try await change(at: place) { $0[$0.count - 1] ^= 1 }
    }

    private func change(at place: [UInt8], _ change: (inout [UInt8]) -> Void) async throws {
        let found = try environment.read { try $0.value(at: place) }
        var record = try #require(found)
        change(&record)
        try await write { [record] in $0.overwrite(place, with: record) }
    }
}
