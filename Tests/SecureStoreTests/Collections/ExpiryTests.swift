import FoundationEssentials
import Testing

@testable import SallyportSecureStore

@Suite struct ExpiryTests {
    private let past = Date() - 10
    private let future = Date() + 3600

    @Test func anExpiredRecordIsNotRead() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        try await store.write { transaction in
            try transaction.set("old", for: "old", in: texts, expiresAt: past)
            try transaction.set("new", for: "new", in: texts, expiresAt: future)
            try transaction.set("plain", for: "plain", in: texts)
            #expect(try transaction.value(for: "old", in: texts) == nil)
            #expect(Set(try transaction.all(in: texts).map(\.0)) == ["new", "plain"])
        }
        try store.read { snapshot throws in
            #expect(try snapshot.value(for: "old", in: texts) == nil)
            #expect(try snapshot.value(for: "new", in: texts) == "new")
            #expect(try snapshot.keys(in: texts) == ["new", "plain"])
            #expect(Set(try snapshot.all(in: texts).map(\.0)) == ["new", "plain"])
            #expect(try snapshot.count(of: texts) == 3, "until a sweep")
        }
        #expect(try await store.sweep() == 1)
        #expect(try store.read { try $0.count(of: texts) } == 2)
        #expect(try await store.sweep() == 0)
        #expect(try await store.verify().isSound)
    }

    @Test func aReplacedExpiryCountsNoMore() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        try await store.write { transaction in
            for key in ["none", "later", "removed"] { try transaction.set("1", for: key, in: texts, expiresAt: past) }
        }
        try await store.write { transaction in
            try transaction.set("2", for: "none", in: texts)
            try transaction.set("2", for: "later", in: texts, expiresAt: future)
            try transaction.remove("removed", from: texts)
        }
        #expect(try store.statistics().expiringRecords == 1)
        #expect(try await store.sweep() == 0)
        #expect(try await store.sweep(asOf: future + 1) == 1)
        #expect(try store.read { try $0.all(in: texts).map(\.0) } == ["none"])
        #expect(try store.statistics().expiringRecords == 0)
        #expect(try await store.verify().isSound)
    }

    @Test func aWholeCollectionTakesItsExpiriesAlong() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<Int, String> = store.collection("t", of: String.self, keyedBy: Int.self)
        try await store.write { for key in 0..<10 { try $0.set("1", for: key, in: texts, expiresAt: past) } }
        try await store.write { try $0.removeAll(from: texts) }
        #expect(try store.statistics().expiringRecords == 0)
        #expect(try await store.sweep() == 0)
        #expect(try await store.verify().isSound)
    }

    /// The pages that a sweep looks at depend on what expires, not on how much lies beside.
    @Test func aSweepLooksAtWhatExpiresOnly() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<Int, String> = store.collection("t", of: String.self, keyedBy: Int.self)
        try await store.write { transaction in
            for key in 0..<5000 { try transaction.set("1", for: key, in: texts, expiresAt: key < 600 ? past : future) }
        }
        let seen = try await store.write { transaction in
            try transaction.sweep(asOf: StoreTime.milliseconds(past + 1), limit: 1000).seen
        }
        #expect(seen == 600)
        #expect(try store.read { try $0.count(of: texts) } == 4400)
        // In several transactions, where more expire than one takes.
        #expect(try await store.sweep(asOf: future + 1) == 4400)
        #expect(try store.read { try $0.count(of: texts) } == 0)
        #expect(try await store.verify().isSound)
    }

    @Test func aDamagedEntryOfTheIndexDoesNotStopASweep() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<Int, String> = store.collection("t", of: String.self, keyedBy: Int.self)
        try await store.write { for key in 0..<3 { try $0.set("1", for: key, in: texts, expiresAt: past) } }
        let cipher = store.ring.expiryCipher
        try await store.write { transaction in
            let entries = try transaction.records(of: cipher.identifier)
            let place = try #require(entries.keys.first)
            var entry = try #require(entries[place])
            entry[40] ^= 1
            transaction.overwrite(place, with: entry)
        }
        #expect(try await store.sweep() == 2)
        #expect(try store.read { try $0.count(of: texts) } == 1, "the entry's record cannot be found")
        #expect(try store.statistics().expiringRecords == 0)
        #expect(try await store.sweep() == 0)
    }

    @Test func aSumOfTheIndexThatDoesNotOpenStopsNewExpiriesOnly() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        try await store.write { transaction in
            try transaction.set("1", for: "old", in: texts, expiresAt: past)
            for key in ["changed", "removed"] { try transaction.set("1", for: key, in: texts, expiresAt: future) }
        }
        try await store.flipSum(of: store.ring.expiryCipher)
        let refused = await #expect(throws: StoreError.self) {
            try await store.write { try $0.set("1", for: "new", in: texts, expiresAt: future) }
        }
        #expect(refused?.code == .damaged && refused?.message.contains("expiry") == true)
        try await store.write { try $0.set("2", for: "changed", in: texts) }
        try await store.write { try $0.remove("removed", from: texts) }
        #expect(try await store.sweep() == 1)
        #expect(try await store.sweep(asOf: future + 1) == 0)
        #expect(try store.read { try $0.all(in: texts).map(\.0) } == ["changed"])
    }

    @Test func datesBeyondAllMeasureAreTaken() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        try await store.write { transaction in
            try transaction.set("1", for: "first", in: texts, expiresAt: .distantPast)
            try transaction.set("1", for: "none", in: texts, expiresAt: Date(timeIntervalSince1970: .nan))
            try transaction.set("1", for: "last", in: texts, expiresAt: Date(timeIntervalSince1970: 1e300))
        }
        #expect(try await store.sweep() == 2)
        #expect(try store.read { try $0.keys(in: texts) } == ["last"])
    }

    @Test func runSweepsUntilItIsCancelledOrTheStoreCloses() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        try await store.write { try $0.set("1", for: "a", in: texts, expiresAt: past) }
        var changes = store.changes(in: texts).makeAsyncIterator()
        let cancelled = Task { try await store.run(sweepingEvery: .seconds(3600)) }
        #expect(await changes.next() == .removed("a"))
        cancelled.cancel()
        try await cancelled.value
        store.close()
        try await store.run(sweepingEvery: .seconds(3600))
    }
}
