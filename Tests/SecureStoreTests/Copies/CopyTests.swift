import FoundationEssentials
import Glibc
import StoreWorkload
import Testing

@testable import SallyportSecureStore

/// Backup, restore and compaction.
@Suite struct CopyTests {
    private let fixture: StoreFixture
    private var workload: Workload { fixture.workload }
    private var backup: String { "\(fixture.path)/backup" }

    init() throws { fixture = try StoreFixture() }

    private func restore() async throws(StoreError) -> VerificationReport {
        try await SecureStore.restore(from: backup, to: fixture.directory, protectedBy: .keyFile(fixture.keyFile))
    }

    private func verify(_ path: String) async throws -> VerificationReport {
        try await SecureStore.verify(at: path, protectedBy: .keyFile(fixture.keyFile))
    }

    private func size(_ path: String) -> Int {
        var info = stat()
        return stat(path, &info) == 0 ? Int(info.st_size) : 0
    }

    // MARK: Backup

    @Test func aBackupOfAStoreThatIsWrittenIsOneMoment() async throws {
        let store = try await fixture.open()
        for transaction in 1...30 { try await workload.perform(transaction, in: store) }
        async let writing: Void = {
            for transaction in 31...90 { try await workload.perform(transaction, in: store) }
        }()
        for round in 0..<5 {
            let path = "\(backup)\(round)"
            let report = try await store.backup(to: path)
            #expect(report.isSound)
            let copy = try await SecureStore.open(
                at: path, protectedBy: .keyFile(fixture.keyFile), options: .readOnly)
            let transactions = try workload.transactions(in: copy)
            #expect((30...90).contains(transactions))
            #expect(try workload.content(of: copy) == workload.expected(after: transactions))
            copy.close()
            #expect(try await verify(path).isSound)
            #expect(!FileManager.default.fileExists(atPath: "\(path).partial"))
        }
        try await writing
    }

    /// Each rotation changes the keys twice, and a copy is tried ten times.
    @Test func aBackupDuringRotationsHasTheKeysOfItsRecords() async throws {
        let store = try await fixture.open()
        for transaction in 1...30 { try await workload.perform(transaction, in: store) }
        for round in 0..<6 {
            async let rotating: Void = {
                for _ in 0..<4 {
                    try await store.rotateDataKey()
                    try await store.finishRotation()
                }
            }()
            #expect(try await store.backup(to: "\(backup)\(round)").isSound)
            #expect(try await verify("\(backup)\(round)").isSound)
            try await rotating
        }
    }

    @Test func aBackupBesideAnotherProcessThatWrites() async throws {
        let child = try Child(["write", fixture.directory, fixture.keyFile])
        for _ in 0..<20 { _ = try child.readLine() }
        let store = try await fixture.open(.readOnly)
        #expect(try await store.backup(to: backup).isSound)
        child.kill(SIGKILL)
        #expect(try await verify(backup).isSound)
    }

    @Test func aBackupIsEncryptedAndHoldsNothingOld() async throws {
        let store = try await fixture.open()
        let texts: StoreCollection<String, String> = store.collection("texts", of: String.self)
        try await store.write { try $0.set("a plain text that one would find", for: "a", in: texts) }
        for transaction in 1...40 { try await workload.perform(transaction, in: store) }
        let report = try await store.backup(to: backup)
        #expect(report.records == workload.expected(after: 40).count + 1)
        let copied = try await verify(backup)
        #expect(copied.records == report.records && copied.freePages <= report.freePages)
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: "\(backup)/data.mdb")))
        #expect(bytes.firstRange(of: Array("a plain text".utf8)) == nil)
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: backup)).isSuperset(of: ["data.mdb", "keys"]))
        #expect(try Files.status(of: backup).st_mode & 0o077 == 0)
    }

    @Test func aBackupOverSomethingIsRefused() async throws {
        try await fixture.fill(1)
        let store = try await fixture.open()
        _ = try await store.backup(to: backup)
        let before = try Data(contentsOf: URL(fileURLWithPath: "\(backup)/data.mdb"))
        let error = await #expect(throws: StoreError.self) { try await store.backup(to: backup) }
        #expect(error?.code == .fileSystem)
        #expect(try Data(contentsOf: URL(fileURLWithPath: "\(backup)/data.mdb")) == before)
    }

    @Test func theTargetOfABackupMayEndWithSlashes() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        for (number, slashes) in ["/", "//"].enumerated() {
            let path = "\(backup)\(number)"
            #expect(try await store.backup(to: path + slashes).isSound)
            #expect(try await verify(path).isSound)
            let names = try FileManager.default.contentsOfDirectory(atPath: path)
            #expect(!names.contains(".partial") && !Files.exists("\(path).partial"))
        }
    }

    @Test func aBackupMakesNoParentDirectory() async throws {
        let store = try await fixture.open()
        let error = await #expect(throws: StoreError.self) {
            try await store.backup(to: "\(fixture.path)/missing/backup")
        }
        #expect(error?.code == .fileSystem)
        #expect(!Files.exists("\(fixture.path)/missing"))
    }

    @Test func aBackupBesideAnotherOneWithTheSameTargetIsRefusedAndLeavesItsFiles() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        let partial = "\(backup).partial"
        try Files.makeDirectory(partial)
        try Data([1]).write(to: URL(fileURLWithPath: "\(partial)/data.mdb"))
        let other = open(partial, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try #require(flock(other, LOCK_EX | LOCK_NB) == 0)
        let error = await #expect(throws: StoreError.self) { try await store.backup(to: backup) }
        #expect(error?.code == .inUse)
        #expect(try FileManager.default.contentsOfDirectory(atPath: partial) == ["data.mdb"])
        // The other one was interrupted. A child that another test forks may have the lock for a moment longer.
        flock(other, LOCK_UN)
        close(other)
        #expect(try await store.backup(to: backup).isSound)
        #expect(try await verify(backup).isSound)
        #expect(!Files.exists(partial))
    }

    @Test func aPartialBackupThatOthersReachIsRefusedAndLeftAsItIs() async throws {
        let store = try await fixture.open()
        let partial = "\(backup).partial"
        try Files.makeDirectory(partial)
        try Data([1]).write(to: URL(fileURLWithPath: "\(partial)/data.mdb"))
        chmod(partial, 0o755)
        let error = await #expect(throws: StoreError.self) { try await store.backup(to: backup) }
        #expect(error?.code == .unsafePermissions)
        #expect(try FileManager.default.contentsOfDirectory(atPath: partial) == ["data.mdb"])
        #expect(!Files.exists(backup))
    }

    @Test func aDirectoryThatNoBackupMadeIsRefusedAndLeftAsItIs() async throws {
        let store = try await fixture.open()
        let partial = "\(backup).partial"
        try Files.makeDirectory(partial)
        try Data([1]).write(to: URL(fileURLWithPath: "\(partial)/letter"))
        let error = await #expect(throws: StoreError.self) { try await store.backup(to: backup) }
        #expect(error?.code == .fileSystem && error?.message.contains("'letter'") == true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: partial) == ["letter"])
        #expect(!Files.exists(backup))
    }

    @Test func aStoreThatHasTheNameOfAPartialBackupIsRefusedAndGoesOn() async throws {
        let store = try await fixture.open()
        let partial = "\(backup).partial"
        let other = try await SecureStore.open(at: partial, protectedBy: .keyFile(fixture.keyFile))
        try await workload.perform(1, in: other)
        let error = await #expect(throws: StoreError.self) { try await store.backup(to: backup) }
        #expect(error?.code == .fileSystem && error?.message.contains("was not made by a backup") == true)
        try await workload.perform(2, in: other)
        other.close()
        #expect(try await verify(partial).isSound)
    }

    @Test func whatAnInterruptedBackupLeftIsReplaced() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        try Files.makeDirectory("\(backup).partial")
        for name in ["data.mdb", "keys", "restored", "lock.mdb"] {
            try Data([1]).write(to: URL(fileURLWithPath: "\(backup).partial/\(name)"))
        }
        #expect(try await store.backup(to: backup).isSound)
        #expect(try await verify(backup).isSound)
        #expect(!Files.exists("\(backup).partial"))
    }

    @Test(.enabled(if: geteuid() == 0, "Only root can give directories away."))
    func aPartialBackupOfAnotherUserIsRefused() async throws {
        let store = try await fixture.open()
        let partial = "\(backup).partial"
        try Files.makeDirectory(partial)
        chown(partial, 65_534, gid_t.max)
        let error = await #expect(throws: StoreError.self) { try await store.backup(to: backup) }
        #expect(error?.code == .unsafePermissions)
        #expect(Files.exists(partial) && !Files.exists(backup))
    }

    @Test func aBackupThroughALinkIsRefusedAndRemovesNothingBehindIt() async throws {
        let store = try await fixture.open()
        let elsewhere = "\(fixture.path)/elsewhere"
        try Files.makeDirectory(elsewhere)
        try Data([1]).write(to: URL(fileURLWithPath: "\(elsewhere)/file"))
        try #require(symlink(elsewhere, "\(backup).partial") == 0)
        let error = await #expect(throws: StoreError.self) { try await store.backup(to: backup) }
        #expect(error?.code == .fileSystem)
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere) == ["file"])
        #expect(!Files.exists(backup))
    }

    @Test func aDamagedStoreIsNotBackedUp() async throws {
        try await fixture.fill(60)
        let image = DataImage(
            content: Array(try Data(contentsOf: URL(fileURLWithPath: "\(fixture.directory)/data.mdb"))))
        let byte = try #require(DataMap(image).bytes[.leafValue]?.last)
        try Flip(part: .leafValue, offset: byte, bit: 1).perform(on: "\(fixture.directory)/data.mdb")
        let store = try await fixture.open()
        let error = await #expect(throws: StoreError.self) { try await store.backup(to: backup) }
        #expect(error?.code == .damaged)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: fixture.path).allSatisfy { !$0.hasPrefix("backup") })
    }

    @Test func anEmptyStoreIsBackedUpAndRestored() async throws {
        let store = try await fixture.open()
        #expect(try await store.backup(to: backup).records == 0)
        store.close()
        #expect(try await restore().isSound)
        #expect(try workload.transactions(in: try await fixture.open()) == 0)
    }

    // MARK: Restore

    @Test func aRestoreBringsBackWhatWasThenAndSaysSo() async throws {
        let store = try await fixture.open()
        for transaction in 1...20 { try await workload.perform(transaction, in: store) }
        _ = try await store.backup(to: backup)
        #expect(!store.isRestored)
        for transaction in 21...40 { try await workload.perform(transaction, in: store) }
        store.close()
        #expect(try await restore().records == workload.expected(after: 20).count)
        let restored = try await fixture.open()
        #expect(restored.isRestored)
        #expect(try workload.content(of: restored) == workload.expected(after: 20))
        try restored.acceptRestore()
        for transaction in 21...40 { try await workload.perform(transaction, in: restored) }
        restored.close()
        let again = try await fixture.open()
        #expect(!again.isRestored)
        #expect(try workload.content(of: again) == workload.expected(after: 40))
        #expect(try await again.verify().isSound)
    }

    @Test func aRestoreRepairsADamagedStoreAndAMissingOne() async throws {
        let store = try await fixture.open()
        for transaction in 1...20 { try await workload.perform(transaction, in: store) }
        _ = try await store.backup(to: backup)
        store.close()
        for name in ["data.mdb", "keys", "lock.mdb", "writer"] {
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: "\(fixture.directory)/\(name)"))
            #expect(try await restore().isSound)
            #expect(try await verify(fixture.directory).isSound)
        }
        try FileManager.default.removeItem(atPath: fixture.directory)
        #expect(try await restore().isSound)
        #expect(try workload.content(of: try await fixture.open()) == workload.expected(after: 20))
    }

    @Test func aRestoreOverAnOpenStoreOrOfADamagedBackupChangesNothing() async throws {
        let store = try await fixture.open()
        for transaction in 1...20 { try await workload.perform(transaction, in: store) }
        _ = try await store.backup(to: backup)
        try await workload.perform(21, in: store)
        #expect(await #expect(throws: StoreError.self) { try await restore() }?.code == .inUse)
        store.close()
        let child = try Child(["hold", fixture.directory, fixture.keyFile])
        try #require(try child.readLine() == "open")
        #expect(await #expect(throws: StoreError.self) { try await restore() }?.code == .inUse)
        child.endInput()
        try child.wait()

        let image = DataImage(content: Array(try Data(contentsOf: URL(fileURLWithPath: "\(backup)/data.mdb"))))
        let byte = try #require(DataMap(image).bytes[.leafValue]?.last)
        try Flip(part: .leafValue, offset: byte, bit: 1).perform(on: "\(backup)/data.mdb")
        #expect(await #expect(throws: StoreError.self) { try await restore() }?.code == .damaged)
        let same = try await fixture.open()
        #expect(try workload.content(of: same) == workload.expected(after: 21))
        #expect(!same.isRestored)
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory)
        #expect(!names.contains { ["staging", "restoring"].contains($0) })
    }

    @Test func aRestoreThatWasInterruptedIsFinishedByTheNextOpen() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        _ = try await store.backup(to: backup)
        try await workload.perform(2, in: store)
        store.close()
        for moved in [[], ["keys"], ["keys", "data.mdb"]] {
            let restoring = "\(fixture.directory)/restoring"
            try FileManager.default.copyItem(atPath: backup, toPath: restoring)
            for name in moved {
                unlink("\(fixture.directory)/\(name)")
                rename("\(restoring)/\(name)", "\(fixture.directory)/\(name)")
            }
            let error = await #expect(throws: StoreError.self) { try await fixture.open(.readOnly) }
            #expect(error?.code == .inUse)
            let again = try await fixture.open()
            #expect(again.isRestored)
            #expect(try workload.transactions(in: again) == 1)
            try await workload.perform(2, in: again)
            again.close()
        }
        // One that had not begun to put anything in place never was.
        try FileManager.default.copyItem(atPath: backup, toPath: "\(fixture.directory)/staging")
        let again = try await fixture.open()
        #expect(try workload.transactions(in: again) == 2)
        #expect(!FileManager.default.fileExists(atPath: "\(fixture.directory)/staging"))
    }

    @Test func aRestoreFinishesOneThatWasInterruptedAndReplacesIt() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        let first = "\(fixture.path)/first"
        _ = try await store.backup(to: first)
        try await workload.perform(2, in: store)
        _ = try await store.backup(to: backup)
        store.close()
        try FileManager.default.copyItem(atPath: first, toPath: "\(fixture.directory)/restoring")
        #expect(try await restore().isSound)
        let restored = try await fixture.open()
        #expect(try workload.transactions(in: restored) == 2)
        #expect(!FileManager.default.fileExists(atPath: "\(fixture.directory)/restoring"))
    }

    @Test func aRestoreOverAnInterruptedWipeIsNotWipedByTheNextOpen() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        _ = try await store.backup(to: backup)
        store.close()
        // The wipe was interrupted when its intent was written and the keys were destroyed.
        try Data().write(to: URL(fileURLWithPath: "\(fixture.directory)/wiping"))
        try FileManager.default.removeItem(atPath: "\(fixture.directory)/keys")
        #expect(try await restore().isSound)
        let restored = try await fixture.open(.existing)
        #expect(try workload.transactions(in: restored) == 1)
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory)
        #expect(!names.contains { ["wiping", "wiped"].contains($0) }, "\(names)")
    }

    /// Another process begins the wipe when the restore has opened the backup, and is killed.
    @Test func aWipeThatIsKilledBesideARestoreIsFinishedBeforeIt() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        _ = try await store.backup(to: backup)
        store.close()
        let intent = "\(fixture.directory)/wiping"
        let protector = InterruptingProtector(KeyFileProtector(path: fixture.keyFile)) { () throws(StoreError) in
            try Files.write([], to: intent, mode: 0o600, mustBeNew: true)
        }
        let report = try await SecureStore.restore(from: backup, to: fixture.directory, protectedBy: protector)
        #expect(report.isSound)
        #expect(!FileManager.default.fileExists(atPath: intent))
        let restored = try await fixture.open(.existing)
        #expect(try workload.transactions(in: restored) == 1)
    }

    /// The same with the secret in the store's directory: the wipe destroys it, and with it the backup.
    @Test func aWipeBesideARestoreThatDestroysTheSecretOfTheBackupRestoresNothing() async throws {
        let directory = fixture.directory
        let key = KeyFileProtector(path: "\(directory)/key")
        let store = try await SecureStore.open(at: directory, protectedBy: key)
        try await workload.perform(1, in: store)
        _ = try await store.backup(to: backup)
        store.close()
        let protector = InterruptingProtector(key) { () throws(StoreError) in
            try Files.write([], to: "\(directory)/wiping", mode: 0o600, mustBeNew: true)
        }
        let error = await #expect(throws: StoreError.self) {
            try await SecureStore.restore(from: backup, to: directory, protectedBy: protector)
        }
        #expect(error?.code == .keyUnavailable)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        #expect(Set(names).isSubset(of: ["wiped", "writer"]), "\(names)")
    }

    @Test func aWipeTakesWhatARestoreLeft() async throws {
        let store = try await fixture.open()
        try await workload.perform(1, in: store)
        _ = try await store.backup(to: backup)
        for name in ["staging", "restoring"] {
            try FileManager.default.copyItem(atPath: backup, toPath: "\(fixture.directory)/\(name)")
        }
        try await store.wipe()
        let names = try FileManager.default.contentsOfDirectory(atPath: fixture.directory)
        #expect(Set(names).isSubset(of: ["wiped", "writer"]), "\(names)")
    }

    /// The keys' file is read when the restore opens the store, and again when a record has a key that it did not have.
    @Test func aRestoreFromAStoreThatAnotherProcessRotatesHasTheKeysOfItsRecords() async throws {
        try await fixture.fill(20)
        let writer = try RotatingWriter(of: fixture)
        let original = KeyFileProtector(path: fixture.keyFile)
        let protector = SteppedProtector(original, steps: ["begin", "finish"], of: writer)
        let target = "\(fixture.path)/restored"
        let report = try await SecureStore.restore(from: fixture.directory, to: target, protectedBy: protector)
        #expect(report.isSound)
        #expect(writer.done == ["begin", "finish"])
        #expect(try await verify(target).isSound)
        let restored = try await SecureStore.open(at: target, protectedBy: .keyFile(fixture.keyFile))
        #expect(try workload.content(of: restored) == workload.expected(after: 21))
    }

    // MARK: Compaction

    @Test func aCompactionGivesSpaceBackAndKeepsAll() async throws {
        let store = try await fixture.open()
        let large: StoreCollection<String, [UInt8]> = store.collection("large", of: [UInt8].self)
        for transaction in 1...10 { try await workload.perform(transaction, in: store) }
        try await store.write { write in
            for index in 0..<40 {
                try write.set([UInt8](repeating: 7, count: 100_000), for: "\(index)", in: large)
            }
        }
        try await store.write { try $0.removeAll(from: large) }
        #expect(await #expect(throws: StoreError.self) { try await compact() }?.code == .inUse)
        store.close()
        let compaction = try await compact()
        #expect(compaction.before > 4_000_000 && compaction.after < 500_000)
        #expect(size("\(fixture.directory)/data.mdb") == compaction.after)
        let again = try await fixture.open()
        #expect(try workload.content(of: again) == workload.expected(after: 10))
        try await workload.perform(11, in: again)
        #expect(try await again.verify().isSound)
        #expect(try workload.content(of: again) == workload.expected(after: 11))
    }

    @Test func aCompactionReplacesNoFileWhileAReaderOpensThem() async throws {
        try await fixture.fill(10)
        let data = "\(fixture.directory)/data.mdb"
        let before = FileIdentity(data)
        let reader = try OpeningReader(in: fixture.directory)
        _ = try await compact()
        #expect(await reader.wasWaitedFor)
        #expect(FileIdentity(data) != before)
        #expect(try workload.content(of: try await fixture.open()) == workload.expected(after: 10))
    }

    @Test func aCompactionThatWasInterruptedIsFinishedByTheNextOpen() async throws {
        try await fixture.fill(10)
        let restoring = "\(fixture.directory)/restoring"
        for isMoved in [false, true] {
            let (data, result) = ("\(fixture.directory)/data.mdb", "\(restoring)/data.mdb")
            try FileManager.default.createDirectory(atPath: restoring, withIntermediateDirectories: false)
            try FileManager.default.copyItem(atPath: data, toPath: result)
            if isMoved { rename(result, data) }
            #expect(await #expect(throws: StoreError.self) { try await fixture.open(.readOnly) }?.code == .inUse)
            let store = try await fixture.open()
            #expect(try workload.content(of: store) == workload.expected(after: 10))
            #expect(!store.isRestored && !FileManager.default.fileExists(atPath: restoring))
            store.close()
        }
    }

    private func compact() async throws(StoreError) -> SecureStore.Compaction {
        try await SecureStore.compact(at: fixture.directory, protectedBy: .keyFile(fixture.keyFile))
    }
}
