import FoundationEssentials
import Glibc
import StoreWorkload
import Testing

@testable import SallyportSecureStore

/// Disks that are full or must not be written, and files that are cut, missing or another store's.
@Suite struct DiskFaultTests {
    private let fixture: StoreFixture
    private var workload: Workload { fixture.workload }
    private var data: String { "\(fixture.directory)/data.mdb" }

    init() throws { fixture = try StoreFixture() }

    @Test(arguments: [100_000, 1_000_000, 5_000_000])
    func aFileSizeLimitEndsInFullAndKeepsWhatWasAcknowledged(limit: Int) async throws {
        let child = try Child(["limit", fixture.directory, fixture.keyFile, "\(limit)"])
        let lines = try child.readLines()
        #expect(try child.wait() == 0)
        let done = lines.count { $0.hasPrefix("done") }
        #expect(lines.suffix(2) == ["failed full", "content \(done)"])
        let store = try await fixture.open()
        let large = Workload(writer: 0, longest: 20_000)
        #expect(try large.content(of: store) == large.expected(after: done))
        // With room again, it goes on.
        try await large.perform(done + 1, in: store)
        #expect(try await store.verify().isSound)
    }

    @Test func aLimitBelowAnEmptyStoreLeavesNothingHalfMade() async throws {
        let child = try Child(["limit", fixture.directory, fixture.keyFile, "4096"])
        #expect(try child.readLines().last?.hasPrefix("error full") == true)
        try await fixture.open().close()
    }

    @Test(.enabled(if: getuid() == 0, "Mounting takes root."))
    func aFullDiskEndsInFullAndKeepsWhatWasAcknowledged() async throws {
        let disk = try SmallDisk(at: "\(fixture.path)/disk", bytes: 3 << 20)
        let store = try await SecureStore.open(
            at: "\(disk.path)/store", protectedBy: .keyFile(fixture.keyFile))
        let large = Workload(writer: 0, longest: 20_000)
        var done = 0
        let error = await #expect(throws: StoreError.self) {
            while done < 10_000 {
                try await large.perform(done + 1, in: store)
                done += 1
            }
        }
        #expect(error?.code == .full)
        #expect(done > 2)
        #expect(try large.content(of: store) == large.expected(after: done))
        // A backup that does not fit is not there.
        let failure = await #expect(throws: StoreError.self) { try await store.backup(to: "\(disk.path)/backup") }
        #expect(failure?.code == .full)
        #expect(!Files.exists("\(disk.path)/backup") && !Files.exists("\(disk.path)/backup.partial"))
        store.close()
        let again = try await SecureStore.open(
            at: "\(disk.path)/store", protectedBy: .keyFile(fixture.keyFile))
        #expect(try large.content(of: again) == large.expected(after: done))
        #expect(try await again.verify().isSound)
        again.close()
    }

    @Test(.enabled(if: getuid() == 0, "Mounting takes root."))
    func aDiskThatMustNotBeWrittenIsReadAndNotWritten() async throws {
        let disk = try SmallDisk(at: "\(fixture.path)/disk", bytes: 8 << 20)
        func open(_ options: StoreOptions) async throws(StoreError) -> SecureStore {
            try await SecureStore.open(
                at: "\(disk.path)/store", protectedBy: .keyFile(fixture.keyFile), options: options)
        }
        let store = try await open(StoreOptions())
        try await workload.perform(1, in: store)
        store.close()
        try disk.makeReadOnly()
        #expect(await #expect(throws: StoreError.self) { try await open(StoreOptions()) }?.code == .fileSystem)
        let reader = try await open(.readOnly)
        #expect(try workload.content(of: reader) == workload.expected(after: 1))
        #expect(try await reader.verify().isSound)
        #expect(try await reader.backup(to: "\(fixture.path)/backup").isSound)
        reader.close()
    }

    @Test func aRefusedOpenLeavesNoFileOpen() async throws {
        try await fixture.fill(5)
        let other = try StoreFixture()
        try await other.fill(5)
        try FileManager.default.removeItem(atPath: data)
        try FileManager.default.copyItem(atPath: "\(other.directory)/data.mdb", toPath: data)
        for _ in 0..<3 { await #expect(throws: StoreError.self) { try await fixture.open() } }
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        #expect(!open.contains { $0.hasPrefix(fixture.path) })
    }

    @Test func aFileThatWasCutIsRefusedOrWhole() async throws {
        try await fixture.fill(40)
        let whole = Array(try Data(contentsOf: URL(fileURLWithPath: data)))
        var refused = 0
        for length in stride(from: 0, to: whole.count, by: 4096 * 5 + 512) {
            try Data(whole.prefix(length)).write(to: URL(fileURLWithPath: data))
            do {
                let store = try await fixture.open(.readOnly)
                #expect(try workload.content(of: store) == workload.expected(after: 40), "\(length) bytes")
                store.close()
            } catch {
                #expect((error as? StoreError)?.code == .damaged, "\(length) bytes: \(error)")
                refused += 1
            }
        }
        #expect(refused > 3)
    }

    @Test func theDataOfAnotherStoreIsRefusedAndNotEmpty() async throws {
        try await fixture.fill(5)
        let other = try StoreFixture()
        let store = try await other.open()
        try await workload.perform(1, in: store)
        store.close()
        try Data(contentsOf: URL(fileURLWithPath: "\(other.directory)/data.mdb")).write(to: URL(fileURLWithPath: data))
        for options in [StoreOptions(), .readOnly] {
            let error = await #expect(throws: StoreError.self) { try await fixture.open(options) }
            #expect(error?.code == .damaged)
        }
        try Data(contentsOf: URL(fileURLWithPath: "\(other.directory)/keys"))
            .write(to: URL(fileURLWithPath: "\(fixture.directory)/keys"))
        let error = await #expect(throws: StoreError.self) { try await fixture.open() }
        #expect(error?.code == .wrongKey)
    }

    @Test func oneDamagedRecordDoesNotCloseTheStore() async throws {
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("texts", of: String.self)
        try await store.write { try $0.set("x", for: "a", in: texts) }
        store.close()
        let image = DataImage(content: Array(try Data(contentsOf: URL(fileURLWithPath: data))))
        let values = try #require(DataMap(image).bytes[.leafValue])
        try Flip(part: .leafValue, offset: try #require(values.max()), bit: 0).perform(on: data)
        try await fixture.open().close()
    }
}

/// A file system in memory, unmounted with this value.
private final class SmallDisk {
    let path: String

    init(at path: String, bytes: Int) throws {
        self.path = path
        mkdir(path, 0o700)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(bytes)") == 0 else {
            throw Child.Failure(description: "mount: \(errno)")
        }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    func makeReadOnly() throws {
        guard mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT) | UInt(MS_RDONLY), nil) == 0 else {
            throw Child.Failure(description: "remount: \(errno)")
        }
    }
}
