import Foundation
import SallyportPostgreSQL
import SallyportWire
import Synchronization
import TestSupport
import Testing

@testable import SallyportGateway

/// What a gateway learns while one of its transactions is under way is newer than what that transaction read. Taking the
/// difference for a database that was put back would refuse an app its configuration.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct FleetOverlapTests {
    private let fixture: DataFixture
    private let database: DelayedDatabase
    private let store: FleetStore

    init() async throws {
        fixture = try await DataFixture()
        let fleet = try #require(fixture.fleet)
        database = DelayedDatabase(try fleet.owner())
        store = FleetStore(database, key: try #require(FleetKey(fleet.membership.key)))
    }

    /// Each operation ends after another gateway has changed the fleet and this one has followed the change.
    @Test(arguments: Operation.allCases)
    func aChangeMeanwhileIsNoSignOfAnOlderDatabase(_ operation: Operation) async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let before = try await store.changes(after: nil).revision
        // So that the next transaction is the one that reads.
        if operation == .confirmation { _ = try await store.confirm() }
        database.beforeReturning {
            try await fixture.perform(.addUser("eve"))
            #expect(try await store.changes(after: before).revision > before)
        }
        switch operation {
        case .epoch: _ = try await store.nextEpoch(of: presented.name.instance, atLeast: 0, seen: nil)
        case .confirmation: _ = try await store.confirm()
        case .changes: _ = try await store.changes(after: before)
        }
        #expect(await store.newest > before)
        await store.close()
    }

    enum Operation: CaseIterable { case epoch, confirmation, changes }

    /// Another gateway is about to sign a configuration with it.
    @Test func anEpochThatIsNotCommittedYetIsWaitedFor() async throws {
        let (store, database) = (store, database)
        let (reading, taken) = try await whileAnEpochIsTaken { _ async throws -> Task<Int64, any Error> in
            let reading = Task { try await store.newestEpoch() }
            // Without a wait, these are one that looks and one that reads.
            #expect(try await eventually(within: .seconds(2)) { database.transactions >= 3 })
            return reading
        }
        #expect(try await reading.value == taken)
        await store.close()
    }

    @Test func changesThatComeMeanwhileAreNotHeldUp() async throws {
        let (store, database) = (store, database)
        let (reading, _) = try await whileAnEpochIsTaken { owner async throws -> Task<Int64, any Error> in
            let reading = Task { try await store.newestEpoch() }
            #expect(try await eventually(within: .seconds(2)) { database.transactions >= 3 })
            _ = try await owner.transaction(.write) { transaction in
                // A wait for the open transaction would end in an error.
                try await transaction.run("SET LOCAL lock_timeout = '1s'", [])
                try await transaction.run("UPDATE instance SET epoch = epoch WHERE id = 'none'", [])
            }
            return reading
        }
        _ = try await reading.value
        await store.close()
    }

    @Test func anEpochThatStaysUncommittedIsAnError() async throws {
        let store = store
        _ = try await whileAnEpochIsTaken { _ in
            let error = await #expect(throws: GatewayError.self) { try await store.awaitTakenEpochs(within: .zero) }
            #expect(error?.code == .store)
        }
        try await store.awaitTakenEpochs(within: .zero)
        await store.close()
    }

    /// - Returns: what `body` returns, and the epoch that is taken in an open transaction while it runs.
    private func whileAnEpochIsTaken<Value: Sendable>(
        _ body: @escaping @Sendable (any FleetDatabase) async throws -> Value
    ) async throws -> (Value, epoch: Int64) {
        let id = try await fixture.enroll(fixture.link(), DataFixture.request()).name.instance
        let (owner, taken) = (try #require(fixture.fleet).owner(), Int64(1) << 52)
        let value = try await owner.transaction(.write) { transaction -> Value in
            // It stands still as long as the body takes.
            try await transaction.run("SET LOCAL idle_in_transaction_session_timeout = '30s'", [])
            try await transaction.run(
                "UPDATE instance SET epoch = $1 WHERE id = $2", [.integer(taken), .text(id.description)])
            return try await body(owner)
        }
        await owner.close()
        return (value, taken)
    }
}

/// A database whose next transaction returns only after something else has happened.
private final class DelayedDatabase: FleetDatabase {
    private let database: any FleetDatabase
    private let delay = Mutex<(@Sendable () async throws -> Void)?>(nil)
    private let count = Mutex(0)

    init(_ database: any FleetDatabase) { self.database = database }

    /// How many have begun.
    var transactions: Int { count.withLock { $0 } }

    func beforeReturning(_ body: @escaping @Sendable () async throws -> Void) { delay.withLock { $0 = body } }

    func transaction<Value: Sendable>(
        _ kind: FleetTransactionKind, _ body: @Sendable (any FleetTransaction) async throws -> Value
    ) async throws -> Value {
        count.withLock { $0 += 1 }
        let delay = delay.withLock { delay in
            defer { delay = nil }
            return delay
        }
        let value = try await database.transaction(kind, body)
        try await delay?()
        return value
    }

    func notifications(of channel: String, watching state: String) -> AsyncStream<Void> {
        database.notifications(of: channel, watching: state)
    }

    var trouble: GatewayError? { get async { await database.trouble } }

    func close() async { await database.close() }
}
