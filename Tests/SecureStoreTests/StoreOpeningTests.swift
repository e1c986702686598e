import FoundationEssentials
import Glibc
import Testing

@testable import SallyportSecureStore

@Suite struct StoreOpeningTests {
    @Test func aSecondOpenerIsTold() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let error = await #expect(throws: StoreError.self) { try await fixture.open() }
        #expect(error?.code == .inUse)
        store.close()
        try await fixture.open().close()
    }

    @Test func aStoreThatIsNotThereIsNotMadeUnlessAsked() async throws {
        let fixture = try StoreFixture()
        for options in [StoreOptions.existing, .readOnly] {
            let error = await #expect(throws: StoreError.self) { try await fixture.open(options) }
            #expect(error?.code == .notFound)
        }
        #expect(!FileManager.default.fileExists(atPath: fixture.directory))
    }

    @Test func readOnlyReadsAndRefusesToWrite() async throws {
        let fixture = try StoreFixture()
        let writer = try await fixture.open()
        try await writer.write { try $0.set("x", for: "a", in: writer.collection("t", of: String.self)) }
        writer.close()
        let store = try await fixture.open(.readOnly)
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        #expect(try store.read { try $0.value(for: "a", in: texts) } == "x")
        let error = await #expect(throws: StoreError.self) {
            try await store.write { try $0.remove("a", from: texts) }
        }
        #expect(error?.code == .readOnly)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [StoreOptions(), .readOnly])
    func closingWithinAReadIsDoneWhenTheReadHasEnded(options: StoreOptions) async throws {
        let fixture = try StoreFixture()
        let writer = try await fixture.open()
        try await writer.write { try $0.set("x", for: "a", in: writer.collection("t", of: String.self)) }
        writer.close()
        let store = try await fixture.open(options)
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        let reading = await HeldSnapshot(of: store) { snapshot in
            try store.read { _ in store.close() }
            return try snapshot.value(for: "a", in: texts)
        }
        #expect(try await reading.release() == "x")
        let error = #expect(throws: StoreError.self) { try store.read { _ in } }
        #expect(error?.code == .closed)
        try await fixture.open().close()
    }

    @Test func aStoreThatWasClosedOpensAgainWhileAForkedChildStillHasItsLockFile() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        let inherited = try Self.inherited("\(fixture.directory)/writer")
        defer { for descriptor in inherited { close(descriptor) } }
        try #require(!inherited.isEmpty)
        store.close()
        try await fixture.open().close()
    }

    @Test func aDirectoryIsUnlockedWhileAChildThatWasForkedMeanwhileStillHasItOpen() async throws {
        let fixture = try StoreFixture()
        var inherited: [Int32] = []
        defer { for descriptor in inherited { close(descriptor) } }
        inherited = try DirectoryLock.whileReplacing(fixture.path) { () throws(StoreError) -> [Int32] in
            (try? Self.inherited(fixture.path)) ?? []
        }
        try #require(!inherited.isEmpty)
        let isOpened = try DirectoryLock.whileOpening(fixture.path) { () throws(StoreError) -> Bool in true }
        #expect(isOpened)
    }

    /// Descriptors of a file as a forked child has them: they share the locks of this process's own.
    private static func inherited(_ path: String) throws -> [Int32] {
        let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
        let file = FileIdentity(path)
        return numbers.filter { FileIdentity("/proc/self/fd/\($0)") == file }.map { dup($0) }
    }

    @Test func whatCannotBeLookedAtIsNotMissing() throws {
        let fixture = try StoreFixture()
        let (file, loop) = ("\(fixture.path)/file", "\(fixture.path)/loop")
        try Data().write(to: URL(fileURLWithPath: file))
        try #require(symlink(loop, loop) == 0)
        #expect(Files.exists(file) && Files.exists(loop))
        #expect(!Files.exists("\(fixture.path)/none") && !Files.exists("\(file)/none"))
    }

    /// The writer overwrites the old file once the new one is in place.
    @Test(.timeLimit(.minutes(1))) func aFileThatIsReplacedWhileItIsReadIsReadWhole() async throws {
        let fixture = try StoreFixture()
        let path = "\(fixture.path)/secret"
        try Files.replaceSecret(path, with: [UInt8](repeating: 0, count: 60_000), mode: 0o600)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { @concurrent in
                for number in 1...200 as ClosedRange<UInt8> {
                    try Files.replaceSecret(path, with: [UInt8](repeating: number, count: 60_000), mode: 0o600)
                }
            }
            group.addTask { @concurrent in
                var last: UInt8 = 0
                while last < 200, !Task.isCancelled {
                    let bytes = try Files.readCurrent(path, upTo: 64 << 10)
                    try #require(Set(bytes).count == 1 && bytes.count == 60_000)
                    last = bytes[0]
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func keysThatCannotBeReadAreNotReplaced() async throws {
        let fixture = try StoreFixture()
        try await fixture.open().close()
        let keys = "\(fixture.directory)/keys"
        try FileManager.default.moveItem(atPath: keys, toPath: "\(keys).away")
        try #require(symlink(keys, keys) == 0)
        #expect(await #expect(throws: StoreError.self) { try await fixture.open() }?.code == .fileSystem)
        unlink(keys)
        try FileManager.default.moveItem(atPath: "\(keys).away", toPath: keys)
        try await fixture.open().close()
    }

    @Test func theEmptyDataFileOfAnInterruptedCreationIsKept() async throws {
        let fixture = try StoreFixture()
        try await fixture.open().close()
        unlink("\(fixture.directory)/keys")
        let before = FileIdentity("\(fixture.directory)/data.mdb")
        try await fixture.open().close()
        #expect(FileIdentity("\(fixture.directory)/data.mdb") == before)
    }

    @Test func afterClosingEveryCallSaysSo() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        store.close()
        store.close()
        let texts: StoreCollection<String, String> = store.collection("t", of: String.self)
        #expect(throws: StoreError.self) { try store.read { try $0.value(for: "a", in: texts) } }
        let error = await #expect(throws: StoreError.self) { try await store.write { try $0.remove("a", from: texts) } }
        #expect(error?.code == .closed)
    }

    @Test func aWriteMayCloseItsStore() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        try await store.write { transaction in
            store.close()
            try transaction.set("x", for: "a", in: store.collection("t", of: String.self))
        }
        await #expect(throws: StoreError.self) { try await store.write { _ in } }
        let again = try await reopened(fixture)
        #expect(try again.read { try $0.value(for: "a", in: again.collection("t", of: String.self)) } == "x")
    }

    /// The closure holds the last reference, and is let go of on the writer's thread.
    @Test func aStoreThatItsWriterLetsGoOfCloses() async throws {
        for _ in 0..<50 {
            let fixture = try StoreFixture()
            try await writeWithLastReference(fixture)
            try await reopened(fixture).close()
        }
    }

    private func writeWithLastReference(_ fixture: StoreFixture) async throws {
        let store = try await fixture.open()
        try await store.write { try $0.set("x", for: "a", in: store.collection("t", of: String.self)) }
    }

    /// Closing ends on a thread of its own.
    private func reopened(_ fixture: StoreFixture) async throws -> SecureStore {
        let end = ContinuousClock.now + .seconds(10)
        while true {
            do {
                return try await fixture.open()
            } catch {
                guard error.code == .inUse, ContinuousClock.now < end else { throw error }
            }
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    @Test func manyMayCloseAtOnce() async throws {
        for _ in 0..<20 {
            let fixture = try StoreFixture()
            let store = try await fixture.open()
            let texts: StoreCollection<Int, String> = store.collection("t", of: String.self, keyedBy: Int.self)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask { try? await store.write { try $0.set("x", for: number, in: texts) } }
                    group.addTask { store.close() }
                }
            }
            try await fixture.open().close()
        }
    }

    @Test func anotherKeyDoesNotOpen() async throws {
        let fixture = try StoreFixture()
        try await fixture.open().close()
        let other = try StoreFixture()
        try await other.open().close()
        let error = await #expect(throws: StoreError.self) {
            try await SecureStore.open(at: fixture.directory, protectedBy: .keyFile(other.keyFile))
        }
        #expect(error?.code == .wrongKey)
    }

    @Test func aPassphraseOpensAndAnotherDoesNot() async throws {
        let fixture = try StoreFixture()
        let cost = PassphraseProtector.Cost(exponent: 10)
        func open(_ passphrase: String) async throws(StoreError) -> SecureStore {
            try await SecureStore.open(
                at: fixture.directory, protectedBy: PassphraseProtector(passphrase: passphrase, cost: cost))
        }
        try await open("correct horse").close()
        try await open("correct horse").close()
        let error = await #expect(throws: StoreError.self) { try await open("correct house") }
        #expect(error?.code == .wrongKey)
        let kind = await #expect(throws: StoreError.self) { try await fixture.open() }
        #expect(kind?.code == .wrongKey)
    }

    @Test func keyFilesAndDirectoriesThatOthersReachAreRefused() async throws {
        let fixture = try StoreFixture()
        try await fixture.open().close()
        chmod(fixture.keyFile, 0o644)
        #expect(await #expect(throws: StoreError.self) { try await fixture.open() }?.code == .unsafePermissions)
        chmod(fixture.keyFile, 0o600)
        chmod(fixture.directory, 0o755)
        #expect(await #expect(throws: StoreError.self) { try await fixture.open() }?.code == .unsafePermissions)
    }

    /// The owner of a file can change its mode and its content at any time.
    @Test(.enabled(if: geteuid() == 0, "Only root can give files away."))
    func filesOfAnotherUserAreRefused() async throws {
        let fixture = try StoreFixture()
        try await fixture.open().close()
        let files = ["keys", "data.mdb", "lock.mdb", "writer"].map { "\(fixture.directory)/\($0)" }
        for path in [fixture.directory, fixture.keyFile] + files {
            chown(path, 65_534, gid_t.max)
            for options in [StoreOptions(), .readOnly] {
                let error = await #expect(throws: StoreError.self, "\(path)") { try await fixture.open(options) }
                #expect(error?.code == .unsafePermissions, "\(path)")
            }
            chown(path, 0, gid_t.max)
        }
        try await fixture.open().close()
    }

    /// The rule itself, for any user: a process may use files of its effective user and of root.
    @Test func anOwnerIsTheEffectiveUserOrRoot() {
        var info = stat()
        info.st_mode = S_IFREG | 0o600
        info.st_uid = 1_000
        #expect(throws: Never.self) { try PrivateAccess.check(info, "The file", mode: "600", user: 1_000) }
        for user in [0, 1_001] as [uid_t] {
            #expect(throws: StoreError.self) { try PrivateAccess.check(info, "The file", mode: "600", user: user) }
        }
        info.st_uid = 0
        #expect(throws: Never.self) { try PrivateAccess.check(info, "The file", mode: "600", user: 1_000) }
        for mode in [0o640, 0o604, 0o610, 0o666] as [mode_t] {
            info.st_mode = S_IFREG | mode
            #expect(throws: StoreError.self) { try PrivateAccess.check(info, "The file", mode: "600", user: 0) }
        }
    }

    @Test(arguments: [0, 7, 8, 20, 60])
    func aCutOrFlippedKeyRingIsRefused(at offset: Int) async throws {
        let fixture = try StoreFixture()
        try await fixture.open().close()
        let url = URL(fileURLWithPath: "\(fixture.directory)/keys")
        let whole = try Data(contentsOf: url)
        var flipped = whole
        flipped[offset] ^= 1
        for broken in [flipped, whole.prefix(offset)] {
            try broken.write(to: url)
            chmod("\(fixture.directory)/keys", 0o600)
            let error = await #expect(throws: StoreError.self) { try await fixture.open() }
            let codes: [StoreError.Code] = [.damaged, .wrongKey, .unsupportedFormat]
            #expect(codes.contains(error?.code ?? .closed))
        }
        try whole.write(to: url)
        try await fixture.open().close()
    }

    @Test func aStoreThatIsClosedDuringAWipeKeepsItsDirectoryUntilTheEndOfTheWipe() async throws {
        let fixture = try StoreFixture()
        let store = try await fixture.open()
        await store.upkeep.beginWipe()
        store.close()
        #expect(await #expect(throws: StoreError.self) { try await fixture.open() }?.code == .inUse)
        #expect(store.upkeep.endWipe())
        store.close()
        try await fixture.open().close()
    }

    @Test func aWipeLeavesNothingAndIsFinishedAfterAnInterruption() async throws {
        let fixture = try StoreFixture()
        let inside = "\(fixture.directory)/key"
        func open(_ options: StoreOptions) async throws(StoreError) -> SecureStore {
            try await SecureStore.open(at: fixture.directory, protectedBy: .keyFile(inside), options: options)
        }
        try FileManager.default.createDirectory(
            atPath: fixture.directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let store = try await open(StoreOptions())
        try await store.write { try $0.set("x", for: "a", in: store.collection("t", of: String.self)) }
        try await store.wipe()
        for name in ["keys", "key", "data.mdb", "wiping"] {
            #expect(!FileManager.default.fileExists(atPath: "\(fixture.directory)/\(name)"), "\(name) is left")
        }
        for options in [StoreOptions.existing, .readOnly] {
            #expect(await #expect(throws: StoreError.self) { try await open(options) }?.code == .wiped)
        }
        // An interrupted wipe: the intent is there, keys and data still are.
        let again = try await open(StoreOptions())
        try await again.write { try $0.set("y", for: "a", in: again.collection("t", of: String.self)) }
        again.close()
        try Data().write(to: URL(fileURLWithPath: "\(fixture.directory)/wiping"))
        #expect(await #expect(throws: StoreError.self) { try await open(.existing) }?.code == .wiped)
        #expect(!FileManager.default.fileExists(atPath: "\(fixture.directory)/data.mdb"))
        #expect(!FileManager.default.fileExists(atPath: inside))
    }
}

@Suite struct StoreErrorTests {
    /// `MDB_PANIC`, which LMDB returns for each transaction after a commit that failed.
    @Test func aStoreWhoseCommitFailedIsNotCalledDamaged() {
        let error = Environment.failure(-30_795)
        #expect(error.code == .closed && error.message.contains("open the store again"))
    }

    @Test func anErrorNamesThePlaceThatMadeIt() {
        let error = StoreError(.full, "Full.")
        #expect("\(error.location)".hasPrefix("SallyportSecureStoreTests/StoreOpeningTests.swift:"))
    }
}
