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
            let node = node(index, of: root, in: image)
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

    /// What is noted of a free page must not take as much memory as a store of the largest size would need.
    @Test func aFreePageThatTheSnapshotCannotHaveIsDamage() async throws {
        let fixture = try StoreFixture()
        let path = "\(fixture.directory)/data.mdb"
        try await fixture.fill(20)
        let image = DataImage(content: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        let newest = try MetaPages(image).newest
        try #require(newest.lastPage < UInt64(image.length / 4096), "A shorter file is verified when it is opened.")
        let leaf = try page(newest.freeList.root, of: image)
        let index = try #require((0..<leaf.count).first { freePages($0, of: leaf)?.isEmpty == false })
        // The key has 8 bytes, and so has the count before the first page number.
        let number = node(index, of: leaf, in: image) + PageLayout.nodeHeaderLength + 8 + 8
        for bit in [16, 24, 30, 32] {
            let flip = Flip(part: .freeList, offset: number + bit / 8, bit: bit % 8)
            try flip.perform(on: path)
            await refusesReadings(fixture, of: nil, "bit \(bit)")
            try flip.perform(on: path)
        }
        try await fixture.open().close()
    }

    /// LMDB does not write a page that the transaction which took it has freed again: the file may end before it.
    @Test func aFreePageBeyondTheEndOfTheFileIsNoDamage() async throws {
        let fixture = try StoreFixture()
        let path = "\(fixture.directory)/data.mdb"
        let store = try await fixture.open()
        let values = store.collection("values", of: [UInt8].self)
        try await store.write { try $0.set([UInt8](repeating: 1, count: 100_000), for: "large", in: values) }
        try await store.write { try $0.remove("large", from: values) }
        // LMDB takes the pages of the large value, the lowest first, and so frees the last page some day.
        var image = DataImage(content: [])
        for _ in 0..<50 {
            try await store.write { try $0.set([1], for: "small", in: values) }
            image = DataImage(content: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
            if try isLastPageFree(in: image) { break }
        }
        store.close()
        image = DataImage(content: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        try #require(try isLastPageFree(in: image))
        let last = Int(try MetaPages(image).newest.lastPage)
        try Data(image.content[..<(last * 4096)]).write(to: URL(fileURLWithPath: path))

        let short = try await fixture.open(.readOnly)
        let again = short.collection("values", of: [UInt8].self)
        #expect(try short.read { try $0.value(for: "small", in: again) } == [1])
        short.close()
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

    /// The pages of an entry of the list of free pages; nil if they lie in pages of their own.
    private func freePages(_ index: Int, of leaf: TreePage) -> [UInt64]? {
        guard case .inside(let value) = leaf.value(index) else { return nil }
        return FreeListEntry(key: leaf.key(index), value: value)?.pages
    }

    private func isLastPageFree(in image: DataImage) throws -> Bool {
        let newest = try MetaPages(image).newest
        guard newest.freeList.depth == 1 else { return false }
        let leaf = try page(newest.freeList.root, of: image)
        return (0..<leaf.count).contains { freePages($0, of: leaf)?.contains(newest.lastPage) == true }
    }

    /// Where a node begins in the file.
    private func node(_ index: Int, of page: TreePage, in image: DataImage) -> Int {
        let start = Int(page.number) * 4096
        let slot = start + PageLayout.headerLength + 2 * index
        return start + (Int(image.content[slot]) | Int(image.content[slot + 1]) << 8)
    }

    private func page(_ number: UInt64, of image: DataImage) throws -> TreePage {
        let start = Int(number) * 4096
        return try TreePage(Array(image.content[start..<start + 4096]), number: number, pageSize: 4096)
    }
}
