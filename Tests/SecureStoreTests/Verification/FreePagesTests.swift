import FoundationEssentials
import Testing

@testable import SallyportSecureStore

@Suite struct FreePagesTests {
    /// A damaged page number leads to a page that was let go of, where an older record lies whole: its key opens it,
    /// and nothing in it says that it is not the last.
    @Test func anOlderRecordInAPageOutOfUseIsNotReadForTheLast() async throws {
        let fixture = try StoreFixture()
        let path = "\(fixture.directory)/data.mdb"
        let store = try await fixture.open()
        let texts = store.collection("texts", of: String.self)
        let place = texts.cipher.place(of: "key 7".storeOctets)
        try await store.write { write in
            for index in 0..<200 { try write.set("old \(index)", for: "key \(index)", in: texts) }
        }
        for index in 0..<4 { try await store.write { try $0.set("new \(index)", for: "key 7", in: texts) } }
        let last = try #require(try store.environment.read { try $0.value(at: place) })
        store.close()

        var octets = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        let image = DataImage(content: octets)
        let root = try page(try MetaPages(image).newest.records.root, of: image)
        try #require(root.kind == .branch)
        let child = (1..<root.count).last { !place.precedes(root.key($0)) } ?? 0
        let used = Set(try DataMap(image).octets.values.joined().map { $0 / 4096 })
        let stale = try #require(
            (2..<image.length / 4096).first { number in
                guard !used.contains(number), let leaf = try? page(UInt64(number), of: image), leaf.kind == .leaf else {
                    return false
                }
                return (0..<leaf.count).contains { leaf.key($0) == place && leaf.value($0) != .inside(last) }
            })
        let start = Int(root.number) * 4096
        let node = start + Int(octets[start + 16 + 2 * child]) + Int(octets[start + 17 + 2 * child]) << 8
        (octets[node], octets[node + 1]) = (UInt8(stale & 0xff), UInt8(stale >> 8))
        try Data(octets).write(to: URL(fileURLWithPath: path))

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
