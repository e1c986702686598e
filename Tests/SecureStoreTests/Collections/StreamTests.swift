import FoundationEssentials
import Testing

@testable import SallyportSecureStore

@Suite struct StreamTests {
    private struct Broken: Error {}

    /// Bytes that differ from place to place, in chunks of a length, up to a break.
    private struct Source: AsyncSequence, AsyncIteratorProtocol, Sendable {
        let count: Int
        let length: Int
        let end: Int?
        var offset = 0

        func makeAsyncIterator() -> Source { self }

        mutating func next() async throws -> [UInt8]? {
            if let end, offset >= end { throw Broken() }
            guard offset < count else { return nil }
            defer { offset += length }
            return Self.bytes(offset..<Swift.min(offset + length, count))
        }

        /// Repeated as it is, since making each byte anew takes a program that is not optimised seconds. Its length is a
        /// prime number: after a part of a usual length that is missing, everything differs.
        private static let period = (0..<65_521).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) }

        static func bytes(_ range: Range<Int>) -> [UInt8] {
            var bytes = Array(period[(range.lowerBound % period.count)...].prefix(range.count))
            while bytes.count < range.count { bytes += period.prefix(range.count - bytes.count) }
            return bytes
        }
    }

    private func source(_ count: Int, by length: Int, breakingAt end: Int? = nil) -> Source {
        Source(count: count, length: length, end: end)
    }

    private func bytes(_ range: Range<Int>) -> [UInt8] { Source.bytes(range) }

    private func collect(_ chunks: StoredChunks) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        for try await chunk in chunks { bytes += chunk }
        return bytes
    }

    @Test(arguments: [0, 1, 65_449, 65_450, 16 * 65_449, 16 * 65_449 + 1, 3_000_000], [10_000, 5_000_000])
    func aStreamedValueComesBack(_ count: Int, _ length: Int) async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let blobs: StoreCollection<String, [UInt8]> = store.collection("b", of: [UInt8].self)
        #expect(try await store.write(source(count, by: length), for: "a", in: blobs) == count)
        let expected = bytes(0..<count)
        let chunks = try #require(try store.chunks(of: "a", in: blobs))
        #expect(chunks.count == count)
        #expect(try await collect(chunks) == expected)
        #expect(try store.read { try $0.value(for: "a", in: blobs) } == expected)
        #expect(try store.read { try $0.all(in: blobs) }.map(\.1) == [expected])
        #expect(try store.chunks(of: "b", in: blobs) == nil)
        #expect(try await store.verify().isSound)
        try await store.write { try $0.remove("a", from: blobs) }
        #expect(try store.statistics().records == 0, "its pieces went with it")
        #expect(try await store.verify().isSound)
    }

    /// It is known: of none, once the pieces of interrupted streams are removed.
    @Test func aDamagedSumOfUnfinishedStreamsIsMadeAnewByTheNextOpening() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let blobs: StoreCollection<String, [UInt8]> = store.collection("b", of: [UInt8].self)
        try await store.write(source(200_000, by: 10_000), for: "a", in: blobs)
        try await store.flipSum(of: store.ring.pendingCipher)
        await #expect(throws: StoreError(.damaged, "")) {
            try await store.write(source(200_000, by: 10_000), for: "b", in: blobs)
        }
        store.close()
        let reopened = try await fixture.open()
        let again: StoreCollection<String, [UInt8]> = reopened.collection("b", of: [UInt8].self)
        #expect(try await reopened.write(source(200_000, by: 10_000), for: "b", in: again) == 200_000)
        #expect(try await reopened.verify().isSound)
    }

    @Test func aStreamThatBreaksLeavesTheOldValueAndNoPieces() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let blobs: StoreCollection<String, [UInt8]> = store.collection("b", of: [UInt8].self)
        try await store.write { try $0.set([1, 2, 3], for: "a", in: blobs) }
        await #expect(throws: Broken.self) {
            try await store.write(source(9_000_000, by: 100_000, breakingAt: 4_000_000), for: "a", in: blobs)
        }
        #expect(try store.read { try $0.value(for: "a", in: blobs) } == [1, 2, 3])
        #expect(try store.statistics().records == 1)
        let task = Task { try await store.write(source(9_000_000, by: 1 << 20), for: "a", in: blobs) }
        task.cancel()
        await #expect(throws: (any Error).self) { try await task.value }
        #expect(try store.statistics().records == 1)
        #expect(try await store.verify().isSound)
    }

    /// What a crash leaves of a stream is removed by the next open.
    @Test func aStreamThatNeverEndedIsRemovedByTheNextOpen() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let manifest = StreamManifest.new()
        try await store.write { transaction in
            try transaction.begin(manifest)
            for number in UInt64(0)..<5 { try transaction.putPiece([7], number: number, of: manifest) }
        }
        #expect(try store.statistics().records == 6)
        store.close()
        let again = try await fixture.open()
        try await again.write { _ in }
        #expect(try again.statistics().records == 0)
        #expect(try await again.verify().isSound)
    }

    @Test func aDamagedRecordOfAnUnfinishedStreamIsRemovedByTheNextOpenWithThePiecesOfAll() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let blobs: StoreCollection<String, [UInt8]> = store.collection("b", of: [UInt8].self)
        try await store.write(source(200_000, by: 100_000), for: "a", in: blobs)
        let manifests = (0..<3).map { _ in StreamManifest.new() }
        try await store.write { transaction in
            for manifest in manifests {
                try transaction.begin(manifest)
                for number in UInt64(0)..<3 { try transaction.putPiece([7], number: number, of: manifest) }
            }
        }
        for manifest in manifests.prefix(2) {
            try await store.flipTag(at: store.ring.pendingCipher.place(of: manifest.id))
        }
        #expect(try store.statistics().records == 5 + 3 * 4)
        store.close()
        let again = try await fixture.open()
        try await again.write { _ in }
        #expect(try again.statistics().records == 5, "only the value is left")
        let kept: StoreCollection<String, [UInt8]> = again.collection("b", of: [UInt8].self)
        #expect(try again.read { try $0.value(for: "a", in: kept) } == bytes(0..<200_000))
        #expect(try await again.verify().isSound)
        #expect(try await again.backup(to: "\(fixture.path)/backup").isSound)
        try await again.rotateDataKey()
        try await again.finishRotation()
    }

    @Test func aStreamThatIsGivenUpLosesThePiecesOfThisAndOfEarlierTransactions() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let (manifest, other) = (StreamManifest.new(), StreamManifest.new())
        try await store.write { transaction in
            for manifest in [manifest, other] {
                try transaction.begin(manifest)
                for number in UInt64(0)..<3 { try transaction.putPiece([7], number: number, of: manifest) }
            }
        }
        try await store.write { transaction in
            let identifier = transaction.ring.pieceCipher.identifier
            try transaction.putPiece([7], number: 3, of: manifest)
            try transaction.replace(nil, at: identifier + manifest.key(of: 1), in: transaction.ring.pieceCipher)
            #expect(try transaction.places(of: identifier + manifest.id).count == 3)
            try transaction.abandon(manifest.id)
            #expect(try transaction.places(of: identifier + manifest.id).isEmpty)
        }
        #expect(try store.statistics().records == 4, "another stream keeps its pieces")
        #expect(try await store.verify().isSound)
    }

    @Test func aPartThatComesAfterItsStreamWasAbandonedIsRefused() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        var stream = DetachedStream()
        let part = [UInt8](repeating: 7, count: StreamManifest.pieceLength)
        let changes = [stream.append(part), stream.append(part), stream.append(part)]
        guard let abandon = stream.abandon() else { throw Broken() }
        try await store.write(changes[0])
        try await store.write(changes[1])
        #expect(try store.statistics().records == 3)
        try await store.write(abandon)
        let error = await #expect(throws: StoreError.self) { try await store.write(changes[2]) }
        #expect(error?.code == .internalFailure)
        #expect(try store.statistics().records == 0)
    }

    @Test func aValueReplacedWhileItIsReadSaysSo() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let blobs: StoreCollection<String, [UInt8]> = store.collection("b", of: [UInt8].self)
        try await store.write(source(300_000, by: 100_000), for: "a", in: blobs)
        var iterator = try #require(try store.chunks(of: "a", in: blobs)).makeAsyncIterator()
        #expect(try await iterator.next()?.count == StreamManifest.pieceLength)
        try await store.write(source(200_000, by: 100_000), for: "a", in: blobs)
        let error = await #expect(throws: StoreError.self) { try await iterator.next() }
        #expect(error?.code == .replaced)
        #expect(try await collect(try #require(try store.chunks(of: "a", in: blobs))) == bytes(0..<200_000))
        #expect(try await store.verify().isSound)
    }

    @Test func piecesOutOfPlaceAreRefused() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let blobs: StoreCollection<String, [UInt8]> = store.collection("b", of: [UInt8].self)
        try await store.write(source(300_000, by: 100_000), for: "a", in: blobs)
        let cipher = store.ring.pieceCipher
        try await store.write { transaction in
            let places = try transaction.records(of: cipher.identifier).keys.sorted { $0.lexicographicallyPrecedes($1) }
            let (first, second) = (try transaction.record(at: places[0]), try transaction.record(at: places[1]))
            transaction.overwrite(places[0], with: second)
            transaction.overwrite(places[1], with: first)
        }
        #expect(throws: StoreError.self) { try store.read { try $0.value(for: "a", in: blobs) } }
        #expect(try await store.verify().isSound == false)
    }

    @Test func streamedValuesExpireWithTheirPieces() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let blobs: StoreCollection<String, [UInt8]> = store.collection("b", of: [UInt8].self)
        let date = Date() + 3600
        try await store.write(source(300_000, by: 100_000), for: "a", in: blobs, expiresAt: date)
        #expect(try store.statistics().records == 1 + 1 + 5)
        #expect(try await store.sweep(asOf: date) == 1)
        #expect(try store.statistics().records == 0)
        #expect(try store.chunks(of: "a", in: blobs) == nil)
    }
}
