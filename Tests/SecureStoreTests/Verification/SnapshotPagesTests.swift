import FoundationEssentials
import SallyportBase
import Testing

@testable import SallyportSecureStore

/// What LMDB returns is checked before it is read.
@Suite struct SnapshotPagesTests {
    /// LMDB returns a value of whatever length a node says, even beyond its page, the file or the map. (From a key's
    /// length LMDB itself computes an address that it reads: `FlipTests` flips that in a child process.)
    @Test(arguments: [100, 9_000]) func aFlippedLengthIsDamageAndIsNotRead(_ size: Int) async throws {
        let fixture = try StoreFixture()
        let path = "\(fixture.directory)/data.mdb"
        let store = try await fixture.open()
        let values = store.collection("values", of: [UInt8].self)
        for key in ["a", "b"] {
            try await store.write { try $0.set([UInt8](repeating: 1, count: size), for: key, in: values) }
        }
        let places = ["a", "b"].map { values.cipher.place(of: $0.storeBytes) }
        store.close()
        let image = DataImage(content: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        let root = try page(try MetaPages(image).newest.records.root, of: image)
        try #require(root.kind == .leaf)
        for index in 0..<root.count where places.contains(root.key(index)) {
            let start = Int(root.number) * 4096
            let slot = start + PageLayout.headerLength + 2 * index
            let node = start + Int(image.content[slot]) | Int(image.content[slot + 1]) << 8
            for bit in [8, 10, 12, 16, 20, 24, 26, 28, 30, 31] {
                let flip = Flip(part: .leafHeader, offset: node + bit / 8, bit: bit % 8)
                let isBeyond = goesBeyondItsPages(node, root.key(index), of: image, flipping: bit)
                try flip.perform(on: path)
                await refusesReadings(fixture, of: isBeyond ? root.key(index) : nil, "bit \(bit) of node \(index)")
                try flip.perform(on: path)
            }
        }
        try await fixture.open().close()
    }

    /// Whether a node's value extends beyond its pages once a bit of its length is flipped.
    private func goesBeyondItsPages(_ node: Int, _ key: [UInt8], of image: DataImage, flipping bit: Int) -> Bool {
        let header = image.content[node..<node + PageLayout.nodeHeaderLength].map(Int.init)
        let length = header[0] | header[1] << 8 | header[2] << 16 | header[3] << 24
        let flipped = length ^ 1 << bit
        guard UInt16(header[4]) & PageLayout.nodeIsOverflow == 0 else {
            let pages = (PageLayout.headerLength + length + 4095) / 4096
            return PageLayout.headerLength + flipped > pages * 4096
        }
        return node % 4096 + PageLayout.nodeHeaderLength + key.count + flipped > 4096
    }

    /// - Parameter place: the place of a record that must be refused before any of it is read; nil if only the
    ///   authentication of its content reveals the damage.
    private func refusesReadings(_ fixture: StoreFixture, of place: [UInt8]?, _ comment: Comment) async {
        do throws(StoreError) {
            let damaged = try await fixture.open(.readOnly)
            defer { damaged.close() }
            if let place {
                #expect(throws: StoreError.self, comment) { try damaged.environment.read { try $0.value(at: place) } }
            }
            let values = damaged.collection("values", of: [UInt8].self)
            #expect(throws: StoreError.self, comment) { try damaged.read { try $0.all(in: values) } }
            #expect(throws: StoreError.self, comment) {
                try damaged.read { for key in ["a", "b"] { _ = try $0.value(for: key, in: values) } }
            }
        } catch {
            #expect(error.code == .damaged, comment)
        }
    }

    /// After the first change, LMDB returns pointers into its own memory, which nothing could be checked against.
    @Test func aTransactionIsNotReadBehindItsFirstChange() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let texts = store.collection("texts", of: String.self)
        try await store.write { try $0.set("x", for: "a", in: texts) }
        let place = texts.cipher.place(of: "a".storeBytes)
        let reader = Lock<[StoreError.Code]>([])
        let isQueued = store.writer?.enqueue(
            Writer.Part(
                prepare: { tree, _ in
                    do throws(StoreError) {
                        let value = try tree.value(at: place)
                        try tree.put(value ?? [], at: place)
                        _ = try tree.value(at: place)
                    } catch { reader.withLock { $0.append(error.code) } }
                    return false
                }, finish: { _ in }))
        #expect(isQueued == true)
        try await store.write { _ in }
        #expect(reader.withLock { $0 } == [.internalFailure])
        store.close()
    }

    /// The map may move when it grows; its old address must not be used for the next read.
    @Test func readingsGoOnWhereTheMapHasGrown() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let values = store.collection("values", of: [UInt8].self)
        for number in 0..<6 {
            let value = [UInt8](repeating: UInt8(number), count: 8 << 20)
            try await store.write { try $0.set(value, for: "v\(number)", in: values) }
            for earlier in 0...number {
                #expect(try store.read { try $0.value(for: "v\(earlier)", in: values) }?.first == UInt8(earlier))
            }
        }
        #expect(try store.environment.figures().mapSize > 32 << 20)
        #expect(try await store.verify().isSound)
        store.close()
    }

    /// A damaged page number leads to an unused page that holds a complete older record: its key decrypts it, and
    /// nothing in it says that it is not the newest.
    @Test func anOlderRecordInAPageOutOfUseIsNotReadForTheLast() async throws {
        let fixture = try StoreFixture()
        let path = "\(fixture.directory)/data.mdb"
        let store = try await fixture.open()
        let texts = store.collection("texts", of: String.self)
        let place = texts.cipher.place(of: "key 7".storeBytes)
        try await store.write { write in
            for index in 0..<200 { try write.set("old \(index)", for: "key \(index)", in: texts) }
        }
        for index in 0..<4 { try await store.write { try $0.set("new \(index)", for: "key 7", in: texts) } }
        let last = try #require(try store.environment.read { try $0.value(at: place) })
        store.close()

        var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        let image = DataImage(content: bytes)
        let root = try page(try MetaPages(image).newest.records.root, of: image)
        try #require(root.kind == .branch)
        let child = (1..<root.count).last { !place.precedes(root.key($0)) } ?? 0
        let used = Set(try DataMap(image).bytes.values.joined().map { $0 / 4096 })
        let stale = try #require(
            (2..<image.length / 4096).first { number in
                guard !used.contains(number), let leaf = try? page(UInt64(number), of: image), leaf.kind == .leaf else {
                    return false
                }
                return (0..<leaf.count).contains { leaf.key($0) == place && leaf.value($0) != .inside(last) }
            })
        let start = Int(root.number) * 4096
        let node = start + Int(bytes[start + 16 + 2 * child]) + Int(bytes[start + 17 + 2 * child]) << 8
        (bytes[node], bytes[node + 1]) = (UInt8(stale & 0xff), UInt8(stale >> 8))
        try Data(bytes).write(to: URL(fileURLWithPath: path))

        let damaged = try await fixture.open(.readOnly)
        let again = damaged.collection("texts", of: String.self)
        #expect(throws: StoreError.self) { try damaged.read { try $0.value(for: "key 7", in: again) } }
        #expect(throws: StoreError.self) { try damaged.read { try $0.all(in: again) } }
        #expect(try await !damaged.verify().isSound)
        damaged.close()
    }

    private func page(_ number: UInt64, of image: DataImage) throws -> TreePage {
        let start = Int(number) * 4096
        return try TreePage(Array(image.content[start..<start + 4096]), number: number, pageSize: 4096)
    }
}
