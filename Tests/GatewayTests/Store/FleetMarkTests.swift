import Foundation
import HashTreeCollections
import SallyportBase
import SallyportPostgreSQL
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// Single rows of a fleet's database that its owner changes while no gateway runs. Each is sealed, and opens; that it is
/// not what belongs to the database's revision is noticed by the next gateway that starts.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct FleetMarkTests {
    private let folder: TemporaryDirectory
    private let fixture: DataFixture
    private let database: PostgresDatabase
    private let holder: PresentedCertificate
    private let other: PresentedCertificate

    /// Kept are ann with two instances, a relay, and two gateways.
    init() async throws {
        folder = try TemporaryDirectory()
        fixture = try await DataFixture()
        database = try #require(fixture.fleet).owner()
        holder = try await fixture.enroll(fixture.link(), DataFixture.request())
        other = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await fixture.data.listens(controlPort: 1001, relayPort: 1002)
        for table in Self.tables {
            try await run("CREATE TABLE kept_\(table) AS SELECT * FROM \(table)")
        }
    }

    private static let tables = ["fleet", "directory", "authority", "instance", "access_key", "gateway"]

    private func putBackAll() async throws {
        for table in Self.tables {
            try await run("DELETE FROM \(table)")
            try await run("INSERT INTO \(table) SELECT * FROM kept_\(table)")
        }
    }

    private func run(_ statement: String) async throws {
        _ = try await database.transaction(.write) { try await $0.run(statement, []) }
    }

    private func started() async throws -> GatewayData {
        try await GatewayDirectory.open(
            fixture.path, protectedBy: .keyFile("\(fixture.path)/key"), through: TestFleet.databases)
    }

    /// Another gateway of the fleet, which does something and ends.
    private func elsewhere(_ body: (GatewayData) async throws -> Void) async throws {
        let path = folder.file("other")
        try await GatewayDirectory.recover(
            path, name: "localhost", database: try #require(fixture.fleet).membership.url,
            recoveryKey: try #require(fixture.fleet).membership.recoveryKey, protectedBy: .keyFile("\(path)/key"),
            through: TestFleet.databases)
        let data = try await GatewayDirectory.open(
            path, protectedBy: .keyFile("\(path)/key"), through: TestFleet.databases)
        try await body(data)
        await data.close()
    }

    private func lock(_ data: GatewayData) async {
        #expect(await data.perform(.withdraw(instance: holder.name.instance.description, .lock)) == .done)
    }

    private static let putBack = """
        UPDATE instance SET revision = kept.revision, announced = kept.announced, body = kept.body
        FROM kept_instance AS kept WHERE kept.id = instance.id
        """

    /// The second one: with the number of the newest update.
    @Test(arguments: [
        putBack, "UPDATE instance SET body = kept.body FROM kept_instance AS kept WHERE kept.id = instance.id",
        "UPDATE instance SET announced = 0", "DELETE FROM instance",
        "DELETE FROM instance WHERE id = (SELECT min(id) FROM instance)",
    ])
    func anInstancesRowThatIsNotTheNewestIsNoticed(_ statement: String) async throws {
        await lock(fixture.data)
        await fixture.data.close()
        try await run(statement)
        let error = await #expect(throws: GatewayError.self) { try await started() }
        #expect(error?.code == .store && error?.message.contains("instance") == true)
    }

    @Test func anotherGatewayNoticesItThatDidNotRunAtTheWithdrawal() async throws {
        await fixture.data.close()
        try await elsewhere(lock)
        try await run(Self.putBack)
        await #expect(throws: GatewayError(.store, "")) { try await started() }
    }

    @Test func theWholeStateOfAnotherGatewaysTimeIsNoFault() async throws {
        await fixture.data.close()
        try await elsewhere(lock)
        let data = try await started()
        #expect(try await data.admitted(holder).withdrawal == .locked)
        await data.close()
    }

    @Test(arguments: ["directory", "authority"])
    func anOlderPolicyIsNoticedByAGatewayThatNeverKnewTheNewerOne(_ table: String) async throws {
        await fixture.data.close()
        try await elsewhere { data in
            #expect(await data.perform(.addUser("eve")) == .done)
            _ = await data.perform(.authority(.rotate))
        }
        try await run("UPDATE \(table) SET revision = kept.revision, body = kept.body FROM kept_\(table) AS kept")
        let error = await #expect(throws: GatewayError.self) { try await started() }
        #expect(error?.code == .store && error?.message.contains("Table \(table)") == true)
    }

    @Test func aGatewayThatWasRemovedDoesNotComeBack() async throws {
        try await fixture.data.leaveFleet()
        try await fixture.perform(.removeGateway("localhost:1001"))
        await fixture.data.close()
        try await run("INSERT INTO gateway SELECT * FROM kept_gateway")
        let error = await #expect(throws: GatewayError.self) { try await started() }
        #expect(error?.code == .store && error?.message.contains("Table gateway") == true)
    }

    @Test func ofTwoHistoriesTheOtherOneIsNoticedAtTheSameRevision() async throws {
        await lock(fixture.data)
        let reached = await fixture.data.followed
        await fixture.data.close()
        try await putBackAll()
        try await elsewhere { data in
            #expect(await data.perform(.withdraw(instance: other.name.instance.description, .lock)) == .done)
            #expect(await data.followed == reached)
        }
        await #expect(throws: GatewayError(.store, "")) { try await started() }
    }

    @Test func noConfigurationIsSignedFromAStateThatWasPutBackDuringTheRun() async throws {
        await lock(fixture.data)
        try await putBackAll()
        await #expect(throws: GatewayError(.store, "")) { try await fixture.document(other) }
        await #expect(throws: GatewayError(.store, "")) { try await fixture.data.store.confirm() }
    }

    enum Sight: CaseIterable { case confirmation, epoch }

    /// The database has said a revision, and is put back before it is followed.
    @Test(arguments: Sight.allCases)
    func aRevisionThatWasOnlySeenIsNotForgotten(_ sight: Sight) async throws {
        let second = try await fixture.restarted()
        let before = await second.followed
        await lock(fixture.data)
        let seen =
            switch sight {
            case .confirmation: try await second.store.confirm()
            case .epoch:
                try await second.store.nextEpoch(of: other.name.instance, atLeast: 0, seen: nil).revision
            }
        #expect(seen > before)
        try await putBackAll()
        await #expect(throws: GatewayError(.store, "")) { try await second.store.changes(after: before) }
        await #expect(throws: GatewayError(.store, "")) { try await second.catchUp(to: seen) }
        #expect(await second.followed == before)
        await second.close()
    }

    /// The number is not sealed.
    @Test func aRevisionWithoutItsMarkIsNoWord() async throws {
        try await run("UPDATE fleet SET revision = revision + 1")
        await #expect(throws: GatewayError(.store, "")) { try await fixture.data.store.confirm() }
        await #expect(throws: GatewayError(.store, "")) { try await fixture.document(other) }
        try await run("UPDATE fleet SET revision = revision - 1")
        _ = try await fixture.document(other)
    }

    @Test func whatInstancesReportAndEpochsAreNoFault() async throws {
        await lock(fixture.data)
        for version in ["1.0.0.0", "2.0.0.0"] { _ = try await fixture.document(other, version: version) }
        _ = try await fixture.data.standing(ofStoreWith: 1, told: nil, of: other)
        await fixture.data.close()
        let data = try await started()
        #expect(await data.perform(.withdraw(instance: other.name.instance.description, .block)) == .done)
        try await data.refresh()
        await data.close()
        await (try started()).close()
    }

    @Test func aRowThatIsPutBackDuringTheRunIsNoticedWhenAllIsRead() async throws {
        await lock(fixture.data)
        let second = try await fixture.restarted()
        try await run("DELETE FROM instance WHERE id = '\(other.name.instance)'")
        await #expect(throws: GatewayError(.store, "")) { try await second.refresh() }
        #expect(await second.instances[other.name.instance] != nil)
        await second.store.close()
    }

    @Test func aDatabaseOfAnEarlierVersionGetsIt() async throws {
        await lock(fixture.data)
        await fixture.data.close()
        try await FleetSchema.makeEarlier(run)
        let data = try await started()
        #expect(await data.perform(.withdraw(instance: other.name.instance.description, .lock)) == .done)
        await data.close()
        await (try started()).close()
        try await run("UPDATE instance SET body = kept.body FROM kept_instance AS kept WHERE kept.id = instance.id")
        await #expect(throws: GatewayError(.store, "")) { try await started() }
    }

    /// It takes no part in the marks, and reports of instances are not announced.
    @Test func whatAGatewayOfAnEarlierVersionReportsIsNoFault() async throws {
        await lock(fixture.data)
        let fleet = try #require(fixture.fleet)
        let key = try #require(FleetKey(fleet.membership.key))
        await fixture.data.close()
        try await database.transaction(.write) { transaction in
            var record = try await transaction.record(holder.name.instance, key)
            record.version = "2.0.0.0"
            record.countUpdate(isAnnounced: false)
            record.announced = nil
            let id = record.name.instance.description
            try await transaction.run(
                "UPDATE instance SET body = $2 WHERE id = $1",
                [.text(id), key.seal(record, table: "instance", row: id)])
        }
        let data = try await started()
        #expect(try await data.admitted(holder).withdrawal == .locked)
        // With a warning: the user is not entitled to that version.
        #expect(await data.perform(.withdraw(instance: holder.name.instance.description, .unlock)).result == .done)
        await data.close()
        await (try started()).close()
    }

    @Test func whatARestorationFoundIsWhatBelongsToItsRevision() async throws {
        await lock(fixture.data)
        await fixture.data.close()
        try await run(Self.putBack)
        _ = try await GatewayDirectory.restoreFleet(
            fixture.path, isConfirmed: true, protectedBy: .keyFile("\(fixture.path)/key"), through: TestFleet.databases)
        let data = try await started()
        #expect(try await data.admitted(holder).withdrawal == nil)
        await lock(data)
        await data.close()
        await (try started()).close()
    }
}

/// How far a gateway has followed, in its own store.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct FleetMarkKeeperTests {
    @Test func theNewestIsWrittenWithoutAnEndAndAtTheEnd() async throws {
        let fixture = try await DataFixture()
        let own = OwnStore(fixture.store)
        let reached = await fixture.data.followed
        #expect(try await eventually(within: .seconds(10)) { try own.mark()?.revision == reached })
        let keeper = FleetMarkKeeper(own)
        for revision in 1...1000 { await keeper.keep(FleetMark(revision: Int64(revision))) }
        await keeper.end()
        #expect(try own.mark() == FleetMark(revision: 1000))
        await fixture.data.close()
    }
}
