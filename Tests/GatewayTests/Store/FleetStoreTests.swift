import Foundation
import Logging
import SallyportCore
import SallyportPostgreSQL
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// The owner of the fleet's database can deny service, but grant nothing.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct FleetDatabaseOwnerTests {
    private let fixture: DataFixture
    private let database: PostgresDatabase

    init() async throws {
        fixture = try await DataFixture()
        database = try #require(fixture.fleet).owner()
    }

    private func run(_ statement: String, _ values: [FleetValue] = []) async throws {
        _ = try await database.transaction(.write) { try await $0.run(statement, values) }
    }

    private func withdraw(_ presented: PresentedCertificate) async -> AdministrationReply {
        await fixture.data.perform(.withdraw(instance: presented.name.instance.description, .lock))
    }

    private func isStoreFailure(_ reply: AdministrationReply) -> Bool {
        if case .failure(let failure) = reply { failure.name == "store" } else { false }
    }

    @Test func aRecordOfAnotherInstanceIsRefused() async throws {
        let first = try await fixture.enroll(fixture.link(), DataFixture.request())
        let second = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await run(
            "UPDATE instance SET body = (SELECT body FROM instance WHERE id = $1) WHERE id = $2",
            [.text(first.name.instance.description), .text(second.name.instance.description)])
        #expect(await isStoreFailure(withdraw(second)))
        await #expect(throws: GatewayError(.store, "")) { try await fixture.restarted() }
    }

    @Test func aChangedDirectoryIsRefused() async throws {
        try await run("UPDATE directory SET body = set_byte(body, 20, get_byte(body, 20) # 1), revision = revision + 1")
        let reply = await fixture.data.perform(.addUser("eve"))
        #expect(isStoreFailure(reply))
    }

    @Test func anOlderRecordOfAnInstanceIsNoticed() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await run("CREATE TABLE kept AS SELECT * FROM instance")
        #expect(await withdraw(presented) == .done)
        try await run("UPDATE instance SET body = kept.body FROM kept WHERE kept.id = instance.id")
        let reply = await fixture.data.perform(
            .withdraw(instance: presented.name.instance.description, .block))
        #expect(isStoreFailure(reply))
        await #expect(throws: GatewayError(.store, "")) { try await fixture.data.refresh() }
        #expect(try await fixture.data.admitted(presented).withdrawal == .locked)
    }

    /// The instance would otherwise come back once the right is given again.
    @Test func anInstanceThatIsHiddenFromItsRightIsNoticed() async throws {
        _ = try await fixture.enroll(fixture.link(), DataFixture.request())
        try await run("UPDATE instance SET holder = ''")
        let reply = await fixture.data.perform(
            .unentitle(user: "ann", entitlement: "com.example.report", version: "1.0.0.0", confirmed: true))
        #expect(isStoreFailure(reply))
        await #expect(throws: GatewayError(.store, "")) { try await fixture.restarted() }
    }

    @Test(arguments: ["directory", "authority"])
    func anOlderPolicyIsNotWrittenUpon(_ table: String) async throws {
        try await run("CREATE TABLE kept AS SELECT * FROM \(table)")
        try await fixture.perform(.addUser("eve"))
        _ = await fixture.data.perform(.authority(.rotate))
        try await run("UPDATE \(table) SET revision = kept.revision, body = kept.body FROM kept")
        let reply = await fixture.data.perform(
            table == "directory" ? .addUser("bob") : .authority(.rotate))
        #expect(isStoreFailure(reply))
        let unchanged = try await database.transaction(.read) {
            try await $0.run("SELECT count(*) FROM \(table) JOIN kept USING (revision, body)", [])
        }
        #expect(try #require(unchanged.first).integer(0) == 1)
        await #expect(throws: GatewayError(.store, "")) { try await fixture.data.refresh() }
        #expect(await fixture.data.directory.users["eve"] != nil)
        #expect(await fixture.data.authorities.record.next != nil)
    }

    @Test func aDatabaseThatWasPutBackIsNotWrittenTo() async throws {
        let before = await fixture.data.perform(.listUsers)
        try await run("UPDATE fleet SET revision = 1")
        let reply = await fixture.data.perform(.addUser("eve"))
        #expect(isStoreFailure(reply))
        await #expect(throws: GatewayError(.store, "")) { try await fixture.data.catchUp() }
        #expect(await fixture.data.perform(.listUsers) == before)
    }

    /// Counting on from the greatest number would end the process.
    @Test(arguments: ["n = 9223372036854775807", "n = -9223372036854775808", "n = 9007199254740992", "hash = ''"])
    func aHeadOfTheAuditTrailThatIsNoneIsRefused(_ change: String) async throws {
        try await run("UPDATE audit_chain SET \(change) WHERE chain = 'administration'")
        let reply = await fixture.data.perform(.addUser("eve"))
        #expect(isStoreFailure(reply))
        await #expect(throws: GatewayError(.store, "")) { try await fixture.data.keepAudit() }
        await #expect(throws: GatewayError(.store, "")) { try await fixture.data.verifyAudit(against: nil) }
        #expect(await fixture.data.directory.users["eve"] == nil)
    }

    /// A thief who has the link, and the database's owner, who makes its key look unused.
    @Test(arguments: [false, true]) func aUsedKeyThatIsPutBackMakesNoSecondInstance(_ isUnknown: Bool) async throws {
        let link = try await fixture.link()
        try await run("CREATE TABLE kept AS SELECT * FROM access_key")
        let first = try await fixture.enroll(link, DataFixture.request())
        let other = try await fixture.restarted()
        try await run(
            "UPDATE access_key SET is_used = kept.is_used, body = kept.body FROM kept WHERE kept.digest = access_key.digest"
        )
        if isUnknown { try await run("DELETE FROM instance") }
        for data in [fixture.data, other] {
            await #expect(throws: GatewayError(.keyUsed, "")) {
                try await data.enroll(
                    BasicCredentials(user: link.user, password: link.accessKey), request: DataFixture.request(),
                    source: [127, 0, 0, 1])
            }
        }
        #expect(try await other.admitted(first).withdrawal == nil)
        await other.close()
    }

    /// A gateway of an earlier version beside one of a later, which has upgraded the database.
    @Test func aDatabaseOfALaterVersionIsReadOnlyAndServesApps() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let link = try await fixture.link()
        let renewed = try await fixture.data.reenroll(presented, request: DataFixture.request())
        try await run("UPDATE fleet SET feature_level = feature_level + 1")
        for command: AdministrationCommand in [
            .addUser("eve"), .withdraw(instance: presented.name.instance.description, .lock), .authority(.rotate),
            .issueKey(user: "ann", entitlement: "com.example.report"),
        ] {
            guard case .failure(let failure) = await fixture.data.perform(command) else {
                Issue.record("\(command) was carried out")
                continue
            }
            #expect(failure.name == "store" && failure.message.contains("until this gateway is upgraded"))
        }
        await #expect(throws: GatewayError(.store, "")) { try await fixture.enroll(link, DataFixture.request()) }
        await #expect(throws: GatewayError(.store, "")) {
            try await fixture.data.admitted(fixture.data.presented(renewed[0]))
        }
        try await fixture.data.refresh()
        let first = try await fixture.document(presented)
        #expect(try await fixture.document(presented).epoch > first.epoch && first.status == .active)
        let restarted = try await fixture.restarted()
        #expect(try await restarted.admitted(presented).withdrawal == nil)
        await restarted.close()
    }

    /// A record of a later version has members that this one would leave out.
    @Test func aRecordInADatabaseOfALaterVersionIsNotWrittenAnewByAReport() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let epoch = try await fixture.document(presented).epoch
        try await run("CREATE TABLE kept AS SELECT id, body FROM instance")
        func isAsItWas() async throws -> Bool {
            let rows = try await database.transaction(.read) {
                try await $0.run("SELECT count(*) FROM instance JOIN kept USING (id, body)", [])
            }
            return try rows.first?.integer(0) == 1
        }
        try await run("UPDATE fleet SET feature_level = feature_level + 1")
        #expect(try await fixture.data.standing(ofStoreWith: epoch, told: nil, of: presented) == .current)
        #expect(try await isAsItWas())
        try await run("UPDATE fleet SET feature_level = feature_level - 1")
        #expect(try await fixture.data.standing(ofStoreWith: epoch, told: nil, of: presented) == .current)
        #expect(try await !isAsItWas())
    }

    /// What instances did at a gateway that is upgraded later, and that it was stopped for its upgrade.
    @Test func entriesOfAccessAreWrittenIntoADatabaseOfALaterVersion() async throws {
        let silent = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let recorder = AuditRecorder()
        let trail = AuditTrail(
            recorder, fixture.data, at: "localhost", to: AuditOutlets([], logger: silent), logger: silent)
        try await run("UPDATE fleet SET feature_level = feature_level + 1")
        recorder.connect("instance", try Endpoint("a.example:1"), address: nil, error: nil)
        await trail.finish()
        #expect(try await fixture.accessEntries().map { $0[.kind] } == ["connect", "stop"])
    }

    @Test func aGatewayWithAnotherKeyReadsNothing() async throws {
        let stranger = try #require(fixture.fleet).stranger()
        await #expect(throws: GatewayError(.store, "")) { try await stranger.changes(after: nil) }
    }

    @Test func noBodyContainsAName() async throws {
        _ = try await fixture.enroll(fixture.link(), DataFixture.request())
        for table in ["directory", "authority", "instance", "access_key"] {
            let rows = try await database.transaction(.read) { try await $0.run("SELECT body FROM \(table)", []) }
            #expect(!rows.isEmpty)
            for row in rows {
                let text = String(decoding: try row.bytes(0), as: UTF8.self)
                #expect(!text.contains("ann") && !text.contains("com.example") && !text.contains("PRIVATE"))
            }
        }
    }
}

/// Changes that reach a gateway by notifications alone.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct FleetNewsTests {
    @Test func aChangeAtOneGatewayIsInForceAtTheOtherWithoutBeingAskedFor() async throws {
        let fixture = try await DataFixture()
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let other = try await fixture.restarted()
        let news = await other.store.news()
        let following = Task { for await _ in news { try? await other.catchUp() } }
        let policy = await other.currentState()
        #expect(policy.value.policy.instanceInGoodStanding(presented) != nil)
        try await fixture.perform(.withdraw(instance: presented.name.instance.description, .block))
        #expect(
            try await eventually(within: .seconds(10)) { policy.value.policy.instanceInGoodStanding(presented) == nil })
        await other.close()
        await following.value
    }
}

/// The driver.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct PostgresDatabaseTests {
    @Test(arguments: ["nonsense", "postgresql://[::1", "host=a,b port=1,2,3"])
    func whatIsNoURLIsRefusedWithoutRepeatingIt(_ text: String) async throws {
        let error = #expect(throws: GatewayError.self) { try PostgresDatabase(text) }
        #expect(error?.code == .invalid && error?.message.contains(text) == false)
    }

    @Test func aHostThatDoesNotAnswerHoldsNothingUp() async throws {
        // A listener without a program behind it: the connection is made, and nothing comes.
        let deaf = try DeafListener()
        let database = try TestFleet.database(besides: deaf.port)
        let start = ContinuousClock.now
        let rows = try await database.transaction(.read) { try await $0.run("SELECT 1::bigint", []) }
        #expect(try rows.first?.integer(0) == 1)
        #expect(ContinuousClock.now - start < .seconds(4))
        await database.close()
    }

    @Test func severalHostsOfWhichNoneWaitsForAnotherAreAWarning() async throws {
        let one = try TestFleet.database()
        #expect(await one.warning() == nil)
        await one.close()
        let deaf = try DeafListener()
        let two = try TestFleet.database(besides: deaf.port)
        let warning = await two.warning()
        #expect(warning?.contains("2 hosts") == true && warning?.contains("synchronous_standby_names") == true)
        await two.close()
    }

    @Test func aStatementThatTakesTooLongEndsItsConnection() async throws {
        let database = try TestFleet.database()
        await #expect(throws: GatewayError(.unreachable, "")) {
            try await database.transaction(.read) { try await $0.run("SELECT pg_sleep(60)", []) }
        }
        let rows = try await database.transaction(.read) { try await $0.run("SELECT 2::bigint", []) }
        #expect(try rows.first?.integer(0) == 2)
        await database.close()
    }

    @Test func aTransactionThatThrowsLeavesNothing() async throws {
        let database = try TestFleet.database()
        let table = "t_\(UUID().uuidString.prefix(8).lowercased())"
        await #expect(throws: TestFailure.self) {
            try await database.transaction(.write) { transaction in
                try await transaction.run("CREATE TABLE \(table) (n bigint)", [])
                throw TestFailure("on purpose")
            }
        }
        let rows = try await database.transaction(.read) {
            try await $0.run("SELECT count(*) FROM pg_class WHERE relname = $1", [.text(table)])
        }
        #expect(try rows.first?.integer(0) == 0)
        await database.close()
    }

    @Test func valuesOfEveryKindComeBackAsTheyWere() async throws {
        let database = try TestFleet.database()
        let values: [FleetValue] = [
            .integer(.min), .integer(.max), .text("ä\u{0301} '\"\\ $1"), .bytes([0, 255, 39, 92]), .bytes([]), .null,
        ]
        let rows = try await database.transaction(.read) {
            try await $0.run("SELECT $1::bigint, $2::bigint, $3::text, $4::bytea, $5::bytea, $6::text", values)
        }
        #expect(rows == [FleetRow(values)])
        await database.close()
    }

    @Test func moreTransactionsThanConnectionsWaitForEachOther() async throws {
        let database = try TestFleet.database()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<40 {
                group.addTask {
                    _ = try await database.transaction(.read) { try await $0.run("SELECT pg_sleep(0.02)", []) }
                }
            }
            try await group.waitForAll()
        }
        await database.close()
        await #expect(throws: GatewayError(.ended, "")) {
            try await database.transaction(.read) { try await $0.run("SELECT 1", []) }
        }
    }
}
