import FoundationEssentials
import Glibc
import StoreWorkload
import Testing

@testable import SallyportSecureStore

/// Several processes with one store, and a map that grows while other processes read.
@Suite struct ProcessTests {
    private let fixture: StoreFixture
    private let workload = Workload(writer: 0)

    init() throws { fixture = try StoreFixture() }

    private var fileSize: Int {
        var info = stat()
        return stat("\(fixture.directory)/data.mdb", &info) == 0 ? Int(info.st_size) : 0
    }

    @Test func aSecondWriterIsToldWhichProcessWrites() async throws {
        let child = try Child(["hold", fixture.directory, fixture.keyFile])
        try #require(try child.readLine() == "open")
        let error = await #expect(throws: StoreError.self) { try await fixture.open() }
        #expect(error?.code == .inUse)
        #expect(error?.message.contains("process \(child.identifier)") == true)
        child.endInput()
        #expect(try child.wait() == 0)
        try await fixture.open().close()
    }

    @Test func aKilledWriterDoesNotLockTheNextOut() async throws {
        let child = try Child(["hold", fixture.directory, fixture.keyFile])
        try #require(try child.readLine() == "open")
        child.kill(SIGKILL)
        try child.wait()
        try await fixture.open().close()
    }

    @Test func aProcessWithTooManyStoresIsToldSo() async throws {
        let child = try Child(["crowd", fixture.directory, fixture.keyFile])
        let lines = try child.readLines()
        #expect(lines.last?.hasPrefix("error internalFailure: Too many stores") == true, "\(lines)")
        #expect(try child.wait() == 1)
        try await fixture.open().close()
    }

    @Test func aReaderSeesWhatAnotherProcessWritesAlsoAfterItsFileGrew() async throws {
        // Values that make the file outgrow the first map of 16 MiB.
        let child = try Child(["write", fixture.directory, fixture.keyFile, "1", "400", "150000"])
        let large = Workload(writer: 0, longest: 150_000)
        while try child.readLine()?.hasPrefix("done") == false {}
        let store = try await fixture.open(.readOnly)
        var last = 0
        while fileSize < 24 << 20 {
            let found = try large.transactions(in: store)
            #expect(found >= last)
            last = found
            try #require(try child.readLine() != nil, "The file has \(fileSize) bytes.")
        }
        #expect(try large.transactions(in: store) > 1)
        #expect(try await store.verify().isSound)
        child.kill(SIGKILL)
        _ = try child.readLines()
        try child.wait()
        let found = try large.transactions(in: store)
        #expect(try large.content(of: store) == large.expected(after: found))
    }

    @Test func pagesOfAKilledReaderAreReused() async throws {
        let store = try await fixture.open()
        for transaction in 1...20 { try await workload.perform(transaction, in: store) }
        let child = try Child(["look", fixture.directory, fixture.keyFile])
        try #require(try child.readLine()?.hasPrefix("open") == true)
        child.kill(SIGKILL)
        try child.wait()
        for transaction in 21...600 { try await workload.perform(transaction, in: store) }
        // Each transaction writes 10 pages and more anew: held for good, they would be over 20 MiB.
        #expect(fileSize < 15 << 20)
        #expect(try await store.verify().isSound)
    }

    @Test func aReaderBesideTheWriterKeepsItsSnapshot() async throws {
        let store = try await fixture.open()
        for transaction in 1...20 { try await workload.perform(transaction, in: store) }
        let count = workload.expected(after: 20).count
        let child = try Child(["look", fixture.directory, fixture.keyFile])
        #expect(try child.readLine() == "open \(count)")
        for transaction in 21...60 { try await workload.perform(transaction, in: store) }
        child.endInput()
        #expect(try child.readLine() == "read \(count)")
    }

    @Test func aReaderIsToldThatAnotherProcessPutAnotherFileInPlace() async throws {
        try await fixture.open().close()
        let store = try await fixture.open(.readOnly)
        #expect(try workload.transactions(in: store) == 0)
        let data = "\(fixture.directory)/data.mdb"
        try FileManager.default.copyItem(atPath: data, toPath: "\(data).copy")
        rename("\(data).copy", data)
        let error = #expect(throws: StoreError.self) { try workload.transactions(in: store) }
        #expect(error?.code == .closed)
    }

    @Test func theMapGrowsWhileReadersNeverStopReading() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        let large = Workload(writer: 1, longest: 150_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask { @concurrent in
                    let expected = workload.expected(after: 1)
                    while !Task.isCancelled {
                        // A read inside a read, with the map wanted elsewhere in between.
                        try store.read { outer in
                            let first = try outer.all(in: workload.records(in: store))
                            let second = try workload.content(of: store)
                            #expect(first.count == expected.count && second == expected)
                        }
                        await Task.yield()
                    }
                }
            }
            for transaction in 1...60 { try await large.perform(transaction, in: store) }
            group.cancelAll()
            try await group.waitForAll()
        }
        // The first map has 16 MiB; how much more depends on which pages readers held back.
        #expect(fileSize > 16 << 20)
        #expect(try large.content(of: store) == large.expected(after: 60))
        #expect(try await store.verify().isSound)
    }
}
