import FoundationEssentials
import Glibc
import StoreWorkload
import Testing

@testable import SallyportSecureStore

@Suite struct VerifyTests {
    private let fixture: StoreFixture
    private var workload: Workload { fixture.workload }
    private var path: String { "\(fixture.directory)/data.mdb" }

    init() throws { fixture = try StoreFixture() }

    private func verify() async throws -> VerificationReport {
        try await SecureStore.verify(at: fixture.directory, protectedBy: .keyFile(fixture.keyFile))
    }

    private func image() throws -> DataImage {
        DataImage(content: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
    }

    private func overwrite(_ bytes: [UInt8], at offset: Int) throws {
        let file = open(path, O_RDWR | O_CLOEXEC)
        defer { close(file) }
        try #require(pwrite(file, bytes, bytes.count, off_t(offset)) == bytes.count)
    }

    // MARK: Sound

    @Test(arguments: [1, 10, 200]) func aSoundStoreIsSound(transactions: Int) async throws {
        try await fixture.fill(transactions)
        let report = try await verify()
        #expect(report.isSound, "\(report.findings)")
        #expect(report.records == workload.expected(after: transactions).count)
        #expect(report.collections == 1)
        #expect(report.pages > 2 && report.pageSize == 4096)
        #expect(transactions < 200 || report.freePages > 0)
    }

    @Test func anEmptyStoreIsSound() async throws {
        try await fixture.open().close()
        let report = try await verify()
        #expect(report.isSound, "\(report.findings)")
        #expect(report.records == 0)
    }

    @Test func aStoreIsVerifiedWhileItIsReadAndWritten() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        async let writing: Void = {
            for transaction in 2...150 { try await workload.perform(transaction, in: store) }
        }()
        for _ in 0..<20 {
            let report = try await store.verify()
            #expect(report.isSound, "\(report.findings)")
        }
        try await writing
        #expect(try await store.verify().records == workload.expected(after: 150).count)
    }

    /// Another store's files take the place of the first one's when the keys of that one have been read.
    @Test func aStoreThatIsReplacedWhileItIsVerifiedIsVerifiedAnew() async throws {
        try await fixture.fill(3)
        let (directory, other) = (fixture.directory, "\(fixture.path)/other")
        let key = KeyFileProtector(path: fixture.keyFile)
        let store = try await SecureStore.open(at: other, protectedBy: key)
        try await workload.perform(1, in: store)
        store.close()
        let protector = InterruptingProtector(key) { () throws(StoreError) in
            try Files.remove("\(directory)/lock.mdb")
            for name in ["keys", "data.mdb"] { try Files.rename("\(other)/\(name)", to: "\(directory)/\(name)") }
        }
        let report = try await SecureStore.verify(at: directory, protectedBy: protector)
        #expect(report.isSound, "\(report.findings)")
        #expect(report.records == workload.expected(after: 1).count)
    }

    /// The other process makes the key when the file of the keys has been read.
    @Test func aDataKeyThatIsMadeWhileAStoreIsVerifiedIsFound() async throws {
        try await fixture.fill(20)
        let writer = try RotatingWriter(of: fixture)
        let key = KeyFileProtector(path: fixture.keyFile)
        let protector = SteppedProtector(key, steps: ["begin"], of: writer)
        let report = try await SecureStore.verify(at: fixture.directory, protectedBy: protector)
        #expect(report.isSound, "\(report.findings)")
        #expect(writer.done == ["begin"])
    }

    @Test func aStoreIsVerifiedWhileAnotherProcessWritesIt() async throws {
        let child = try Child(["write", fixture.directory, fixture.keyFile, "1"])
        while try child.readLine()?.hasPrefix("done") == false {}
        var last: UInt64 = 0
        for _ in 0..<20 {
            let report = try await verify()
            #expect(report.isSound, "\(report.findings)")
            #expect(report.transaction >= last)
            last = report.transaction
        }
        child.kill(SIGKILL)
    }

    // MARK: Damaged

    @Test(arguments: [0, 1]) func aDamagedMetaPageIsFound(page: Int) async throws {
        try await fixture.fill(5)
        let sound = try image().content
        for offset in 0..<MetaPage.length {
            try overwrite([sound[page * 4096 + offset] ^ 0x04], at: page * 4096 + offset)
            let report = try await verify()
            // Number, kind, magic, version, size of the map, flags, transaction. The trees of the older snapshot mean
            // nothing any more; the address of the map never did.
            if [0, 10, 16, 20, 32, 39, 44, 92, 144].contains(offset) {
                #expect(!report.isSound, "Byte \(offset) of page \(page)")
            }
            try overwrite([sound[page * 4096 + offset]], at: page * 4096 + offset)
        }
        #expect(try await verify().isSound)
    }

    @Test func aTruncatedFileIsFoundAtEveryLength() async throws {
        try await fixture.fill(20)
        let sound = try image()
        // Pages at the end may be free, and their loss is then harmless.
        let end = try #require(DataMap(sound).bytes.filter { $0.key != .unused }.values.joined().max())
        for length in stride(from: sound.length - 512, through: 0, by: -512 * 7) {
            truncate(path, off_t(length))
            #expect(try await verify().isSound == (length > end), "\(length) bytes")
        }
    }

    @Test func pagesSwappedAreFound() async throws {
        try await fixture.fill(60)
        let sound = try image()
        let map = try DataMap(sound)
        let leaves = Array(Set(try #require(map.bytes[.leafKey]).map { $0 / 4096 })).sorted()
        let (first, second) = (leaves[0] * 4096, leaves[1] * 4096)
        try overwrite(Array(sound.content[first..<first + 4096]), at: second)
        try overwrite(Array(sound.content[second..<second + 4096]), at: first)
        let report = try await verify()
        #expect(!report.isStructureSound)
        #expect(report.findings.contains { $0.kind == .tree && $0.page != nil })
    }

    @Test func anOldPagePutBackIsFound() async throws {
        try await fixture.fill(20)
        let old = try image()
        let store = try await fixture.open()
        for transaction in 21...60 { try await workload.perform(transaction, in: store) }
        store.close()
        let new = try image()
        var found = 0
        for page in 2..<old.length / 4096 {
            let range = page * 4096..<page * 4096 + 4096
            guard old.content[range] != new.content[range] else { continue }
            try overwrite(Array(old.content[range]), at: range.lowerBound)
            if try await !verify().isSound { found += 1 }
            try overwrite(Array(new.content[range]), at: range.lowerBound)
        }
        #expect(found > 3)
    }

    @Test func randomBytesInAnyPageNeverEndTheProcess() async throws {
        try await fixture.fill(30)
        let sound = try image()
        var random = SeededGenerator(seed: 3)
        let used = Set(try DataMap(sound).bytes.values.joined().map { $0 / 4096 })
        for page in 0..<sound.length / 4096 {
            let bytes = (0..<4096).map { _ in UInt8.random(in: 0...255, using: &random) }
            try overwrite(bytes, at: page * 4096)
            #expect(try await verify().isSound == !used.contains(page), "Page \(page)")
            try overwrite(Array(sound.content[page * 4096..<page * 4096 + 4096]), at: page * 4096)
        }
    }

    /// A tree whose branch leads back to itself: a walk that trusts it would never end.
    @Test func aTreeThatLeadsBackIsFound() async throws {
        try await fixture.fill(100)
        let sound = try image()
        let root = try MetaPages(sound).newest.records.root
        let start = Int(root) * 4096
        let page = try TreePage(Array(sound.content[start..<start + 4096]), number: root, pageSize: 4096)
        try #require(page.kind == .branch)
        let node = start + Int(sound.content[start + 16]) + Int(sound.content[start + 17]) << 8
        try overwrite([UInt8(root & 0xff), UInt8(root >> 8 & 0xff)], at: node)
        let report = try await verify()
        #expect(report.findings.contains { $0.message.contains("used twice") })
    }

    @Test func aStoreThatIsNotThereSaysSo() async throws {
        let error = await #expect(throws: StoreError.self) { try await verify() }
        #expect(error?.code == .notFound)
    }

    @Test(arguments: ["data.mdb", "keys"])
    func aStoreThatHasLostAFileIsDamagedAndNamesIt(_ name: String) async throws {
        try await fixture.fill(1)
        try FileManager.default.removeItem(atPath: "\(fixture.directory)/\(name)")
        let error = await #expect(throws: StoreError.self) { try await verify() }
        #expect(error?.code == .damaged && error?.message.contains(name) == true && error?.underlying is StoreFileLost)
    }

    @Test func theWrongKeySaysSo() async throws {
        try await fixture.fill(1)
        let other = try StoreFixture()
        try await other.open().close()
        let error = await #expect(throws: StoreError.self) {
            try await SecureStore.verify(at: fixture.directory, protectedBy: .keyFile(other.keyFile))
        }
        #expect(error?.code == .wrongKey)
    }

    // MARK: Records

    @Test func recordsThatAreMissingAddedOrOlderAreFound() async throws {
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("letters", of: String.self)
        try await store.write { try $0.set("old", for: "a", in: texts) }
        let place = texts.cipher.place(of: "a".storeBytes)
        let old = try texts.cipher.seal(key: "a".storeBytes, value: Array("\"old\"".utf8), at: place)
        try await store.write { write in
            try write.set("new", for: "a", in: texts)
            try write.set("other", for: "b", in: texts)
        }
        let added = texts.cipher.place(of: "c".storeBytes)
        let record = try texts.cipher.seal(key: "c".storeBytes, value: Array("\"c\"".utf8), at: added)
        #expect(try await store.verify().isSound)
        for (place, record) in [(place, old), (place, nil), (added, record)] {
            let before = try store.environment.read { try $0.value(at: place) }
            try await store.write { $0.overwrite(place, with: record) }
            let report = try await store.verify()
            #expect(report.findings.map(\.kind) == [.collection])
            #expect(report.findings.first?.collection == "letters")
            try await store.write { $0.overwrite(place, with: before) }
            #expect(try await store.verify().isSound)
        }
    }

    @Test func aDamagedRecordIsNamedAndContained() async throws {
        let store = try await fixture.open()
        let letters: StoreCollection<String, String> = store.collection("letters", of: String.self)
        let others: StoreCollection<String, String> = store.collection("others", of: String.self)
        try await store.write { write in
            for name in ["a", "b"] { try write.set(name, for: name, in: letters) }
            try write.set("c", for: "c", in: others)
        }
        let place = letters.cipher.place(of: "a".storeBytes)
        var record = try #require(try store.environment.read { try $0.value(at: place) })
        record[record.count - 20] ^= 1
        try await store.write { [record] in $0.overwrite(place, with: record) }
        let report = try await store.verify()
        #expect(report.isStructureSound)
        #expect(report.findings.contains { $0.kind == .record && $0.collection == "letters" && $0.page != nil })
        #expect(!report.findings.contains { $0.collection == "others" })
        #expect(report.records == 2)
    }

    /// A malicious file may have millions of them.
    @Test func aFileThatNamesManyCollectionsTakesNoMoreMemoryThanOneWithFew() throws {
        let ring = KeyRing.generate()
        var check = RecordCheck(ring: ring)
        for number in 0..<5000 {
            let place = [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 0, count: 15)
            try check.add([], at: place, page: 2)
        }
        #expect(ring.memory.count < 4096, "The ring itself has the keys of 1,024 collections at hand.")
        var report = VerificationReport()
        check.finish(&report)
        #expect(report.collections == 5000)
        #expect(report.findings.count == VerificationReport.maximumFindings)
        #expect(report.omittedFindings == 9000, "Each collection has a damaged record, and no count and sum.")
    }

    @Test func aCheckThatIsCancelledOrClosedSaysSo() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await store.verify()
        }
        #expect((await task.result.error as? StoreError)?.code == .cancelled)
        store.close()
        let error = await #expect(throws: StoreError.self) { try await store.verify() }
        #expect(error?.code == .closed)
    }
}

extension Result {
    fileprivate var error: (any Error)? {
        if case .failure(let error) = self { return error }
        return nil
    }
}
