import FoundationEssentials
import Glibc
import StoreWorkload
import Testing

@testable import SallyportSecureStore

@Suite struct UncleanCloseTests {
    private let fixture: StoreFixture
    private let workload = Workload(writer: 0)

    init() throws { fixture = try StoreFixture() }

    /// Leaves a store as a killed writer does.
    private func leave(_ transactions: Int = 20) throws {
        let child = try Child(["write", fixture.directory, fixture.keyFile, "1", "\(transactions)"])
        while let line = try child.readLine(), !line.hasPrefix("done 0 \(transactions)") {}
        // The child is about to close: it is killed in time by marking the store as it was before.
        try child.wait()
        try mark("1")
    }

    private func mark(_ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(fixture.directory)/writer"))
    }

    private func damageRoot() throws {
        let path = "\(fixture.directory)/data.mdb"
        let image = DataImage(content: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
        let root = Int(try MetaPages(image).newest.records.root)
        try Flip(part: .branch, offset: root * 4096 + 12, bit: 3).perform(on: path)
    }

    @Test func aCleanCloseIsKnown() async throws {
        let store = try await fixture.open()
        #expect(store.recovery == nil)
        try await workload.perform(1, in: store)
        store.close()
        for options in [StoreOptions.readOnly, StoreOptions()] {
            let again = try await fixture.open(options)
            #expect(try await again.verificationAfterUncleanClose() == nil)
            again.close()
        }
    }

    @Test func recordsAreVerifiedAfterAnUncleanClose() async throws {
        try leave()
        for options in [StoreOptions.readOnly, StoreOptions()] {
            let store = try await fixture.open(options)
            let report = try #require(try await store.verificationAfterUncleanClose())
            #expect(report.isSound)
            #expect(report.records == workload.expected(after: 20).count)
            store.close()
        }
        let store = try await fixture.open()
        #expect(try await store.verificationAfterUncleanClose() == nil, "A reader does not say that all is well.")
    }

    @Test(arguments: [StoreOptions.readOnly, StoreOptions()])
    func aDamagedTreeIsNotOpenedAfterAnUncleanClose(options: StoreOptions) async throws {
        try leave()
        try damageRoot()
        for _ in 0..<2 {
            let error = await #expect(throws: StoreError.self) { try await fixture.open(options) }
            #expect(error?.code == .damaged)
        }
        try damageRoot()
        try await fixture.open(options).close()
    }

    @Test func aStoreWhoseMarkIsMissingIsLookedAt() async throws {
        let store = try await fixture.open()
        store.close()
        unlink("\(fixture.directory)/writer")
        let again = try await fixture.open()
        #expect(try await again.verificationAfterUncleanClose()?.isSound == true)
    }

    @Test func aReaderBesideAWriterDoesNotLookAgain() async throws {
        let child = try Child(["hold", fixture.directory, fixture.keyFile])
        try #require(try child.readLine() == "open")
        let store = try await fixture.open(.readOnly)
        #expect(store.recovery == nil)
    }

    @Test func closingEndsTheCheck() async throws {
        try leave(200)
        let store = try await fixture.open()
        store.close()
        let result = await Result { () async throws(StoreError) in try await store.verificationAfterUncleanClose() }
        switch result {
        case .success(let report): #expect(report?.isSound == true)
        case .failure(let error): #expect(error.code == .cancelled || error.code == .closed)
        }
    }

    @Test func aStoreThatIsClosedBeforeTheEndOfTheCheckIsLookedAtAgain() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        store.upkeep.beginCheck()
        store.close()
        let again = try await fixture.open()
        #expect(try await again.verificationAfterUncleanClose()?.isSound == true)
        again.close()
        #expect(try await fixture.open().recovery == nil)
    }

    @Test func aStoreInWhichTheCheckFoundDamageIsLookedAtAgain() async throws {
        try leave()
        let data = "\(fixture.directory)/data.mdb"
        let image = DataImage(content: Array(try Data(contentsOf: URL(fileURLWithPath: data))))
        let byte = try #require(DataMap(image).bytes[.leafValue]?.last)
        try Flip(part: .leafValue, offset: byte, bit: 1).perform(on: data)
        for _ in 0..<2 {
            let store = try await fixture.open()
            #expect(try await store.verificationAfterUncleanClose()?.isSound == false)
            store.close()
        }
    }

    @Test func anOpeningThatFailsLeavesTheMarkOfAnUncleanClose() async throws {
        try leave()
        // The child may not write a byte into a file.
        let child = try Child(["limit", fixture.directory, fixture.keyFile, "0"])
        #expect(try child.readLines().last?.hasPrefix("error full") == true)
        try child.wait()
        let store = try await fixture.open()
        #expect(try await store.verificationAfterUncleanClose()?.isSound == true)
    }

    @Test func anOpeningThatFailsLeavesTheMarkOfACleanClose() async throws {
        try await fixture.fill(1)
        let other = try StoreFixture()
        try await other.open().close()
        let error = await #expect(throws: StoreError.self) {
            try await SecureStore.open(at: fixture.directory, protectedBy: .keyFile(other.keyFile))
        }
        #expect(error?.code == .wrongKey)
        let store = try await fixture.open()
        #expect(store.recovery == nil)
    }

    @Test func aStoreWithoutItsDataIsDamagedAndNotEmpty() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        store.close()
        unlink("\(fixture.directory)/data.mdb")
        for options in [StoreOptions.readOnly, StoreOptions()] {
            let error = await #expect(throws: StoreError.self) { try await fixture.open(options) }
            #expect(error?.code == .damaged)
        }
    }

    @Test func aCreationThatWasInterruptedIsDoneAgain() async throws {
        try await fixture.open().close()
        unlink("\(fixture.directory)/keys")
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        store.close()
        unlink("\(fixture.directory)/keys")
        let error = await #expect(throws: StoreError.self) { try await fixture.open() }
        #expect(error?.code == .damaged)
    }
}

extension Result {
    fileprivate init(_ body: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
