import Foundation
import SallyportCore
import SallyportPostgreSQL
import TestSupport
import Testing

@testable import SallyportGateway

/// What a gateway does not notice by itself: another one that is stopped, notifications that are lost, a primary that
/// answers and cannot commit.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct FleetDatabaseTests {
    private let table = "watched_\(UUID().uuidString.prefix(8).lowercased())"
    private let database: PostgresDatabase

    init() async throws {
        database = try TestFleet.database()
        try await run("CREATE TABLE \(table) (value bigint)")
        try await run("INSERT INTO \(table) VALUES (1)")
    }

    private func run(_ statement: String) async throws {
        _ = try await database.transaction(.write) { try await $0.run(statement, []) }
    }

    @Test func aGatewayThatStopsInATransactionDoesNotKeepItsLocks() async throws {
        let (stopped, table) = (try TestFleet.database(), table)
        let (locked, isLocked) = AsyncStream.makeStream(of: Void.self)
        let standing = Task {
            try await stopped.transaction(.write) { transaction in
                _ = try await transaction.run("SELECT value FROM \(table) FOR UPDATE", [])
                isLocked.finish()
                try await Task.sleep(for: .seconds(12))
                _ = try await transaction.run("UPDATE \(table) SET value = 2", [])
            }
        }
        for await _ in locked {}
        let start = ContinuousClock.now
        try await run("UPDATE \(table) SET value = 3")
        #expect(start.duration(to: .now) < .seconds(12))
        await #expect(throws: GatewayError.self) { try await standing.value }
        let rows = try await database.transaction(.read) { try await $0.run("SELECT value FROM \(table)", []) }
        #expect(try rows.first?.integer(0) == 3)
        await stopped.close()
        await database.close()
    }

    /// A connection that came back after the end would stay open for as long as the gateway's process runs.
    @Test func aTransactionThatOutlivesItsDatabaseLeavesNoConnection() async throws {
        let name = "ending_\(UUID().uuidString.prefix(8).lowercased())"
        let ending = try TestFleet.database(named: name)
        let (begun, isBegun) = AsyncStream.makeStream(of: Void.self)
        let (closed, isClosed) = AsyncStream.makeStream(of: Void.self)
        let running = Task {
            try await ending.transaction(.read) { transaction in
                isBegun.finish()
                for await _ in closed {}
                _ = try await transaction.run("SELECT 1", [])
            }
        }
        for await _ in begun {}
        #expect(try await connections(named: name) == 1)
        await ending.close()
        isClosed.finish()
        try await running.value
        #expect(try await eventually { try await connections(named: name) == 0 })
        await #expect(throws: GatewayError(.ended, "")) { try await ending.transaction(.read) { _ in } }
        await database.close()
    }

    private func connections(named name: String) async throws -> Int64 {
        let rows = try await database.transaction(.read) {
            try await $0.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = '\(name)'", [])
        }
        return try #require(rows.first).integer(0)
    }

    @Test func aChangeWithoutANotificationIsNoticed() async throws {
        let news = database.notifications(of: "nothing", watching: "SELECT value FROM \(table)")
        let signals = Signals()
        let following = Task { for await _ in news { await signals.add() } }
        // One for what may have been told before.
        #expect(try await eventually { await signals.count > 0 })
        let count = await signals.count
        try await run("UPDATE \(table) SET value = 2")
        #expect(try await eventually { await signals.count > count })
        await database.close()
        await following.value
    }

    private actor Signals {
        private(set) var count = 0
        func add() { count += 1 }
    }

    @Test func aDatabaseThatIsAwayIsTrouble() async throws {
        let absent = try PostgresDatabase("postgresql://ann@127.0.0.1:1/figures?sslmode=disable")
        let news = absent.notifications(of: "nothing", watching: "SELECT 1")
        let following = Task { for await _ in news {} }
        #expect(try await eventually { await absent.trouble?.code == .unreachable })
        await absent.close()
        await following.value
        await database.close()
    }
}

/// A primary that was cut off from its standbys goes on answering; what it says is old once another one is elected.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct FleetWordTests {
    @Test func aPrimaryThatCannotCommitGivesNoWord() async throws {
        let folder = try TemporaryDirectory()
        let address = try #require(IPAddress("127.0.0.1"))
        let server = try await PostgreSQL.start(
            on: "127.0.0.1", in: folder,
            showing: TestAuthority(name: "Database CA").server(names: [], addresses: [address]))
        let password = PostgreSQL.password.replacing(" ", with: "%20")
        let url = "postgresql://\(PostgreSQL.user):\(password)@127.0.0.1:\(server.port)/postgres?sslmode=require"
        let database = try PostgresDatabase(url)
        let key = try #require(FleetKey(FleetKey.generate()))
        try await database.transaction(.write) { transaction in
            try await transaction.run("CREATE TABLE fleet (revision bigint, mark bytea)", [])
            try await transaction.run("INSERT INTO fleet VALUES (7, $1)", [key.seal(FleetMark(revision: 7))])
        }
        let store = FleetStore(database, key: key)
        #expect(try await store.confirm() == 7)

        // As if all standbys were cut off: commits wait for one that is not there.
        try folder.write("synchronous_standby_names = 'away'\n", to: "postgresql/cluster/postgresql.auto.conf")
        _ = try await database.transaction(.read) { try await $0.run("SELECT pg_reload_conf()", []) }
        #expect(
            try await eventually {
                let rows = try await database.transaction(.read) {
                    try await $0.run("SELECT current_setting('synchronous_standby_names')", [])
                }
                return try rows.first?.text(0) == "away"
            })
        try await Task.sleep(for: FleetStore.proofLife)
        await #expect(throws: GatewayError(.unreachable, "")) { try await store.confirm() }
        // It can still be read.
        let rows = try await database.transaction(.read) { try await $0.run("SELECT revision FROM fleet", []) }
        #expect(try rows.first?.integer(0) == 7)
        await store.close()
    }
}
