import FoundationEssentials
import Glibc
import Testing

@testable import SallyportSecureStore

/// Wipes of stores that were closed, and several wipes of one store.
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
