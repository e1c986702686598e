import FoundationEssentials
import Glibc
import Testing

@testable import SallyportSecureStore

/// Wipes of stores that are in use or were closed, and several wipes of one store.
@Suite struct WipeTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private func texts(_ store: SecureStore) -> StoreCollection<String, String> {
        store.collection("t", of: String.self)
    }

    /// Whether nothing of the store is left but the note that it was wiped.
    private func isWiped() async -> Bool {
        let error = await #expect(throws: StoreError.self) { try await fixture.open(.existing) }
        let left = ["keys", "data.mdb", "wiping"].filter { Files.exists("\(fixture.directory)/\($0)") }
        return error?.code == .wiped && left.isEmpty
    }

    @Test func aStoreThatWasClosedIsWiped() async throws {
        let store = try await fixture.open()
        try await store.write { [texts = texts(store)] in try $0.set("x", for: "a", in: texts) }
        store.close()
        try await store.wipe()
        #expect(await isWiped())
        try await fixture.open().close()
    }

    @Test func aStoreThatWasOpenedAgainIsNotWipedByTheOneThatWasClosed() async throws {
        let store = try await fixture.open()
        store.close()
        let other = try await fixture.open()
        try await other.write { [texts = texts(other)] in try $0.set("x", for: "a", in: texts) }
        let error = await #expect(throws: StoreError.self) { try await store.wipe() }
        #expect(error?.code == .inUse)
        #expect(try other.read { try $0.value(for: "a", in: texts(other)) } == "x")
        try await other.write { [texts = texts(other)] in try $0.set("y", for: "a", in: texts) }
        other.close()
        let again = try await fixture.open(.existing)
        #expect(try again.read { try $0.value(for: "a", in: texts(again)) } == "y")
    }

    @Test func aStoreThatAnotherProcessOpenedIsNotWiped() async throws {
        let store = try await fixture.open()
        store.close()
        let child = try Child(["hold", fixture.directory, fixture.keyFile])
        try #require(try child.readLine() == "open")
        let error = await #expect(throws: StoreError.self) { try await store.wipe() }
        #expect(error?.code == .inUse)
        #expect(Files.exists("\(fixture.directory)/keys") && !Files.exists("\(fixture.directory)/wiping"))
        child.endInput()
        #expect(try child.wait() == 0)
        try await store.wipe()
        #expect(await isWiped())
    }

    @Test(.timeLimit(.minutes(1))) func wipesAndClosesAtOnceWipeOnce() async throws {
        let store = try await fixture.open()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { try await store.wipe() }
                group.addTask { store.close() }
            }
            try await group.waitForAll()
        }
        #expect(await isWiped())
    }

    @Test(.timeLimit(.minutes(1))) func aWipeThatFailsEndsWhatWaits() async throws {
        let store = try await fixture.open()
        try makeWipesFail()
        let waiting = AsyncStream<Void>.makeStream()
        async let rotation = withCheckedContinuation { (waiter: Rotation.Waiter) in
            store.upkeep.waitForRotation(waiter)
            waiting.continuation.finish()
        }
        let changes = store.changes(in: texts(store))
        async let told = Self.count(changes)
        for await _ in waiting.stream {}
        await #expect(throws: StoreError.self) { try await store.wipe() }
        let (outcome, count) = await (rotation, told)
        #expect(outcome?.code == .closed)
        #expect(count == 0)
        store.close()
    }

    private static func count(_ changes: StoreChanges<String>) async -> Int {
        var count = 0
        for await _ in changes { count += 1 }
        return count
    }

    @Test func aWipeThatFailsDestroysTheRestAndIsFinishedByTheNextOpen() async throws {
        let store = try await fixture.open()
        try await store.write { [texts = texts(store)] in try $0.set("x", for: "a", in: texts) }
        try makeWipesFail()
        let error = await #expect(throws: StoreError.self) { try await store.wipe() }
        #expect(error?.code == .fileSystem && error?.message.contains("keys.new") == true)
        for name in ["keys", "data.mdb", "lock.mdb", "wiped"] {
            #expect(!Files.exists("\(fixture.directory)/\(name)"), "\(name) is there")
        }
        #expect(Files.exists("\(fixture.directory)/wiping"))
        store.close()
        try Files.removeDirectory("\(fixture.directory)/keys.new")
        #expect(await isWiped())
    }

    @Test(.enabled(if: geteuid() != 0, "Root may write every file."))
    func keysThatAreReadOnlyAreDestroyed() async throws {
        let store = try await fixture.open()
        chmod("\(fixture.directory)/keys", 0o400)
        try await store.wipe()
        #expect(await isWiped())
    }

    /// Makes one step of each wipe fail: a directory is no file that can be overwritten.
    private func makeWipesFail() throws { try Files.makeDirectory("\(fixture.directory)/keys.new") }

    /// Returns when a wipe that has begun has destroyed the keys; false if that does not come.
    private func areKeysDestroyed() async throws -> Bool {
        let end = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < end {
            if Files.exists("\(fixture.directory)/wiping"), !Files.exists("\(fixture.directory)/keys") { return true }
            try await Task.sleep(for: .milliseconds(2))
        }
        return false
    }

    /// How a copy of the directory opens, which is as it were if the process was killed at this moment.
    private func outcomeOfACopy(withIntent: Bool = true) async throws -> StoreError.Code? {
        let copy = "\(fixture.path)/\(withIntent ? "copy" : "copy without intent")"
        try FileManager.default.copyItem(atPath: fixture.directory, toPath: copy)
        chmod(copy, 0o700)
        if !withIntent { try Files.remove("\(copy)/wiping") }
        let error = await #expect(throws: StoreError.self) {
            try await SecureStore.open(at: copy, protectedBy: .keyFile(fixture.keyFile), options: .existing)
        }
        return error?.code
    }

    @Test(.timeLimit(.minutes(2))) func theKeysAreDestroyedBeforeAReadingIsWaitedFor() async throws {
        let store = try await fixture.open()
        let letters = texts(store)
        try await store.write { try $0.set("x", for: "a", in: letters) }
        let reading = await HeldSnapshot(of: store) { try $0.value(for: "a", in: letters) }
        let wipe = Task { try await store.wipe() }
        #expect(try await areKeysDestroyed())
        #expect(try await outcomeOfACopy() == .wiped)
        #expect(try await outcomeOfACopy(withIntent: false) == .damaged)
        let refused = #expect(throws: StoreError.self) { try store.read { _ in } }
        #expect(refused?.code == .closed)
        #expect(Files.exists("\(fixture.directory)/data.mdb"))
        #expect(try await reading.release() == "x")
        try await wipe.value
        #expect(await isWiped())
        let late = await #expect(throws: StoreError.self) { try await store.backup(to: "\(fixture.path)/backup") }
        #expect(late?.code == .closed)
    }

    @Test(.timeLimit(.minutes(2))) func aReadingThatHasBegunMayReadOnceMore() async throws {
        let store = try await fixture.open()
        let letters = texts(store)
        try await store.write { try $0.set("x", for: "a", in: letters) }
        let reading = await HeldSnapshot(of: store) { _ in try store.read { try $0.value(for: "a", in: letters) } }
        let wipe = Task { try await store.wipe() }
        #expect(try await areKeysDestroyed())
        #expect(try await reading.release() == "x")
        try await wipe.value
    }

    @Test(.timeLimit(.minutes(2))) func theKeysAreDestroyedBeforeAWriteIsWaitedForAndNotMadeAgain() async throws {
        let store = try await fixture.open()
        let letters = texts(store)
        let gatekeeper = Gatekeeper()
        let begun = AsyncStream<Void>.makeStream()
        let write = Task {
            try await store.write { transaction in
                begun.continuation.finish()
                gatekeeper.wait()
                try transaction.set("x", for: "a", in: letters)
            }
        }
        for await _ in begun.stream {}
        let rotation = Task { try await store.rotateDataKey() }
        while store.writer?.waiting == 0 { try await Task.sleep(for: .milliseconds(2)) }
        let wipe = Task { try await store.wipe() }
        #expect(try await areKeysDestroyed())
        #expect(try await outcomeOfACopy() == .wiped)
        let refused = await #expect(throws: StoreError.self) { try await store.write { _ in } }
        #expect(refused?.code == .closed)
        gatekeeper.open()
        try await write.value
        let late = await #expect(throws: StoreError.self) { try await rotation.value }
        #expect(late?.code == .closed)
        try await wipe.value
        #expect(await isWiped())
    }

    @Test(.timeLimit(.minutes(2))) func theKeysAreDestroyedAtOnceThoughTheIntentCannotBeWritten() async throws {
        let store = try await fixture.open()
        // A directory is no file that can be written.
        try Files.makeDirectory("\(fixture.directory)/wiping")
        let reading = await HeldSnapshot(of: store) { _ in true }
        let wipe = Task { try await store.wipe() }
        #expect(try await areKeysDestroyed())
        #expect(try await reading.release() == true)
        let error = await #expect(throws: StoreError.self) { try await wipe.value }
        #expect(error?.code == .fileSystem && error?.message.contains("wiping") == true)
        for name in ["keys", "data.mdb", "wiped"] {
            #expect(!Files.exists("\(fixture.directory)/\(name)"), "\(name) is there")
        }
        store.close()
    }

    /// A link to itself stands for a file on a full or broken disk: it cannot be overwritten, and can be removed.
    @Test(.timeLimit(.minutes(2))) func keysThatCannotBeOverwrittenAreRemovedAtOnceAndTheWipeSaysSo() async throws {
        let store = try await fixture.open()
        let keys = "\(fixture.directory)/keys"
        try Files.remove(keys)
        try #require(symlink(keys, keys) == 0)
        let reading = await HeldSnapshot(of: store) { _ in true }
        let wipe = Task { try await store.wipe() }
        #expect(try await areKeysDestroyed())
        #expect(try await reading.release() == true)
        let error = await #expect(throws: StoreError.self) { try await wipe.value }
        #expect(error?.code == .fileSystem && error?.message.hasPrefix("Cannot overwrite") == true)
        #expect(Files.exists("\(fixture.directory)/wiping") && !Files.exists("\(fixture.directory)/data.mdb"))
        store.close()
        #expect(await isWiped())
    }

    @Test func aKeyFileInTheStoreThatCannotBeOverwrittenIsRemovedAndTheWipeSaysSo() async throws {
        let keyFile = "\(Files.realPath(fixture.path))/store/key"
        let store = try await SecureStore.open(at: fixture.directory, protectedBy: .keyFile(keyFile))
        try Files.remove(keyFile)
        try #require(symlink(keyFile, keyFile) == 0)
        let error = await #expect(throws: StoreError.self) { try await store.wipe() }
        #expect(error?.message.hasPrefix("Cannot overwrite \(keyFile)") == true)
        #expect(!Files.exists(keyFile) && Files.exists("\(fixture.directory)/wiping"))
        store.close()
        #expect(await isWiped())
    }

    @Test func keysThatCannotBeOpenedForTheMomentAreOverwrittenLater() async throws {
        try await fixture.open().close()
        let second = "\(fixture.path)/second name"
        try #require(link("\(fixture.directory)/keys", second) == 0)
        let before = try Files.read(second, upTo: 64 << 10)
        let child = try Child(["wipe", fixture.directory, fixture.keyFile, "begin"])
        #expect(try child.readLines() == ["keys true", "wiped", "keys false"])
        let after = try Files.read(second, upTo: 64 << 10)
        #expect(after != before && after.count == before.count)
        #expect(await isWiped())
    }

    @Test func keysThatCannotBeOpenedAtAllAreRemovedAtLast() async throws {
        try await fixture.open().close()
        let child = try Child(["wipe", fixture.directory, fixture.keyFile, "finish"])
        let lines = try child.readLines()
        #expect(lines.count == 3 && lines.first == "keys true" && lines.last == "keys false", "\(lines)")
        #expect(lines.contains { $0.hasPrefix("error Cannot overwrite \(fixture.directory)/keys") }, "\(lines)")
        #expect(!Files.exists("\(fixture.directory)/keys"))
    }

    @Test func aWipeThatSucceededIsNotRepeatedOnANewStore() async throws {
        let store = try await fixture.open()
        try await store.wipe()
        let new = try await fixture.open()
        try await new.write { [texts = texts(new)] in try $0.set("x", for: "a", in: texts) }
        new.close()
        try await store.wipe()
        let again = try await fixture.open(.existing)
        #expect(try again.read { try $0.value(for: "a", in: texts(again)) } == "x")
    }
}
