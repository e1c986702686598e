import Foundation
import TestSupport
import Testing

@testable import SallyportGateway

/// How a gateway follows its store while a read of it is under way.
@Suite(.timeLimit(.minutes(1))) struct FollowingTests {
    private let fixture: DataFixture
    private let store: FaultyStore
    /// Another gateway over the same store.
    private let data: GatewayData

    init() async throws {
        fixture = try await DataFixture()
        (store, data) = try await fixture.faulty()
    }

    /// Reads what there is before `change`, and lets the gateway have it once `call` has come to the read that is under
    /// way.
    private func duringARead(
        _ call: @escaping @Sendable () async throws -> Void, change: () async throws -> Void = {}
    ) async throws {
        let count = store.positions.count
        store.hold()
        let first = Task { [data] in try await data.catchUp() }
        #expect(try await eventually { store.positions.count == count + 1 })
        try await change()
        let second = Task { try await call() }
        try await Task.sleep(for: .milliseconds(100))
        store.release()
        try await first.value
        try await second.value
    }

    /// By the last read.
    private var hasReadEverything: Bool { store.positions.last.map { $0 == nil } ?? false }

    @Test func whatWasCommittedBeforeACallIsKnownAfterIt() async throws {
        try await duringARead { [data] in
            try await data.catchUp()
        } change: {
            try await fixture.perform(.addUser("late"))
        }
        #expect(await data.directory.users["late"] != nil)
    }

    @Test func aRefreshReadsEverythingBesideAReadThatDoesNot() async throws {
        try await duringARead { [data] in try await data.refresh() }
        #expect(hasReadEverything)
        try await data.catchUp()
        #expect(!hasReadEverything)
    }

    @Test func manyThatWaitShareOneRead() async throws {
        let count = store.positions.count
        try await duringARead { [data] in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<50 { group.addTask { try await data.catchUp() } }
                try await group.waitForAll()
            }
        }
        // One that came late may have needed one more.
        #expect(store.positions.count < count + 10)
    }

    @Test func aReadThatHasTheRevisionIsEnough() async throws {
        try await fixture.perform(.addUser("late"))
        let (revision, count) = (await fixture.data.followed, store.positions.count)
        try await duringARead { [data] in try await data.catchUp(to: revision) }
        #expect(store.positions.count == count + 1)
    }

    /// As of a database whose standby has taken its place without the last commits.
    @Test func aStoreThatDoesNotHaveWhatItHasSaidIsAnError() async throws {
        try await fixture.perform(.addUser("late"))
        let revision = await fixture.data.followed
        store.set(.isCutOff)
        await #expect(throws: GatewayError(.store, "")) { try await data.catchUp(to: revision) }
        store.set(nil)
        try await data.catchUp(to: revision)
        #expect(await data.directory.users["late"] != nil)
    }
}
