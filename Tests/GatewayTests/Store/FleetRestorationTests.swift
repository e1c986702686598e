import Foundation
import SallyportBase
import SallyportPostgreSQL
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// A fleet's database that is older than what a gateway knew when it ended: put back by its owner, or restored from a
/// backup on purpose.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct FleetRestorationTests {
    private static let tables = ["fleet", "directory", "authority", "instance", "access_key"]

    private let fixture: DataFixture
    private let database: PostgresDatabase
    private let holder: PresentedCertificate
    private let unused: ActivationLink

    /// The backup has ann and an instance of hers.
    init() async throws {
        fixture = try await DataFixture()
        database = try #require(fixture.fleet).owner()
        holder = try await fixture.enroll(fixture.link(), DataFixture.request())
        unused = try await fixture.link()
        for table in Self.tables { try await run("CREATE TABLE kept_\(table) AS SELECT * FROM \(table)") }
        try await fixture.perform(.addUser("eve"))
        try await fixture.perform(.withdraw(instance: holder.name.instance.description, .lock))
        _ = await fixture.data.perform(.authority(.rotate))
        await fixture.data.close()
    }

    private func run(_ statement: String) async throws {
        _ = try await database.transaction(.write) { try await $0.run(statement, []) }
    }

    private func putBack(_ tables: [String] = tables) async throws {
        for table in tables {
            try await run("DELETE FROM \(table)")
            try await run("INSERT INTO \(table) SELECT * FROM kept_\(table)")
        }
    }

    private func started() async throws -> GatewayData {
        try await GatewayDirectory.open(
            fixture.path, protectedBy: .keyFile("\(fixture.path)/key"), through: TestFleet.databases)
    }

    private func restored(isConfirmed: Bool = true) async throws -> FleetRestoration {
        try await GatewayDirectory.restoreFleet(
            fixture.path, isConfirmed: isConfirmed, protectedBy: .keyFile("\(fixture.path)/key"),
            through: TestFleet.databases)
    }

    @Test func aGatewayThatStartsUsesTheDatabaseThatItKnew() async throws {
        let data = try await started()
        #expect(await data.directory.users["eve"] != nil)
        await data.close()
    }

    @Test(arguments: [tables, ["fleet"], ["directory"], ["authority"]])
    func aGatewayThatStartsRefusesAnOlderOne(_ tables: [String]) async throws {
        try await putBack(tables)
        await #expect(throws: GatewayError(.store, "")) { try await started() }
    }

    private func moved(to url: String) async throws -> Int64 {
        try await GatewayDirectory.moveFleet(
            fixture.path, to: url, protectedBy: .keyFile("\(fixture.path)/key"), through: TestFleet.databases)
    }

    @Test func aGatewayTakesTheDatabaseAtAnotherURL() async throws {
        let url = try #require(fixture.fleet).membership.url + "&application_name=moved"
        let revision = try await moved(to: url)
        let data = try await started()
        #expect(await data.followed == revision)
        let rows = try await database.transaction(.read) {
            try await $0.run("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'moved'", [])
        }
        #expect(try #require(rows.first).integer(0) > 0)
        await data.close()
    }

    @Test func aGatewayTakesNoOtherFleetsDatabaseNorAnOlderOne() async throws {
        let url = try #require(fixture.fleet).membership.url
        let stranger = try #require(try await DataFixture().fleet)
        await #expect(throws: GatewayError(.store, "")) { try await moved(to: stranger.membership.url) }
        try await putBack()
        await #expect(throws: GatewayError(.store, "")) { try await moved(to: url + "&application_name=moved") }
        let store = try await GatewayDirectory.open(
            store: fixture.path, protectedBy: .keyFile("\(fixture.path)/key"), options: .existing)
        defer { store.close() }
        #expect(try OwnStore(store).membership()?.url == url)
    }

    @Test func withoutConfirmationItSaysWhatThereIs() async throws {
        try await putBack()
        let told = try await restored(isConfirmed: false)
        #expect(told.found < told.known ?? 0 && told.revision == nil)
        await #expect(throws: GatewayError(.store, "")) { try await started() }
    }

    /// To count on from it would end the process.
    @Test(arguments: ["9223372036854775807", "9223372036854775800", "-1"])
    func aRevisionThatNoDatabaseComesToIsRefused(_ revision: String) async throws {
        try await run("UPDATE fleet SET revision = \(revision)")
        for isConfirmed in [false, true] {
            await #expect(throws: GatewayError(.store, "")) { try await restored(isConfirmed: isConfirmed) }
        }
        await #expect(throws: GatewayError(.store, "")) { try await started() }
        let keys = try await database.transaction(.read) {
            try await $0.run("SELECT count(*) FROM access_key WHERE NOT is_used", [])
        }
        #expect(try #require(keys.first).integer(0) == 1)
    }

    @Test func whatWasRestoredIsInForceAboveAllThatThereWas() async throws {
        try await putBack()
        let told = try await restored()
        #expect(told.revision ?? 0 > told.known ?? 0 && told.destroyedKeys == 1)
        let rows = try await database.transaction(.read) {
            try await $0.run("SELECT DISTINCT revision FROM instance", [])
        }
        let revisions = try rows.map { try $0.integer(0) }
        let revision = try #require(told.revision)
        #expect(revisions == [revision])
        let data = try await started()
        #expect(await data.followed == told.revision)
        #expect(await data.directory.users.keys.sorted() == ["ann"])
        #expect(await data.authorities.record.next == nil)
        #expect(try await data.admitted(holder).withdrawal == nil)
        #expect(await data.perform(.addUser("bob")) == .done)
        let credentials = BasicCredentials(user: unused.user, password: unused.accessKey)
        await #expect(throws: GatewayError.self) {
            try await data.enroll(credentials, request: DataFixture.request(), source: [127, 0, 0, 1])
        }
        await data.close()
    }

    @Test func theTrailTellsOfIt() async throws {
        try await putBack()
        _ = try await restored()
        let data = try await started()
        guard case .audit(.entries(let entries)) = await data.perform(.audit(.list(.init()))) else {
            throw TestFailure("no entries")
        }
        let entry = try #require(entries.first { $0.fields["action"] == "fleet.restored" })
        #expect(entry.fields["gateway"] == "localhost" && entry.fields["detail"]?.contains("was known") == true)
        await data.close()
    }

    /// It still knows what the backup does not.
    @Test func aGatewayThatRanMeanwhileReadsAndWritesNothingUntilItStartsAgain() async throws {
        let other = try await started()
        // Its own store is let go, as that of a gateway elsewhere would be.
        await other.own.close()
        try await putBack()
        let told = try await restored()
        await #expect(throws: GatewayError(.store, "")) { try await other.catchUp() }
        guard case .failure(let failure) = await other.perform(.addUser("mallory")) else {
            throw TestFailure("It was written to.")
        }
        #expect(failure.message.contains("start this gateway again"))
        #expect(await other.directory.users["eve"] != nil)
        await other.store.close()
        let again = try await started()
        #expect(await again.followed == told.revision)
        await again.close()
    }
}

/// A fleet without a gateway.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct FleetRecoveryTests {
    private let folder: TemporaryDirectory
    private let fixture: DataFixture

    init() async throws { (folder, fixture) = (try TemporaryDirectory(), try await DataFixture()) }

    private func recover(with key: String) async throws -> GatewayData {
        let path = folder.file("gateway")
        try await GatewayDirectory.recover(
            path, name: "localhost", database: try #require(fixture.fleet).membership.url, recoveryKey: Redacted(key),
            protectedBy: .keyFile("\(path)/key"), through: TestFleet.databases)
        return try await GatewayDirectory.open(
            path, protectedBy: .keyFile("\(path)/key"), through: TestFleet.databases)
    }

    @Test func theRecoveryKeyMakesAGateway() async throws {
        let key = try #require(fixture.fleet).membership.recoveryKey.reveal()
        let data = try await recover(with: key)
        #expect(await data.directory.users.keys.sorted() == ["ann"])
        #expect(await data.perform(.addUser("bob")) == .done)
        await data.close()
    }

    @Test(arguments: ["", "nonsense", String(repeating: "A", count: 43)])
    func anotherKeyDoesNot(_ key: String) async throws {
        await #expect(throws: GatewayError.self) { try await recover(with: key) }
    }
}
