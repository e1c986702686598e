import Foundation
import SallyportBase
import SallyportPostgreSQL
import SallyportSecureStore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// A fleet whose tables belong to one role of PostgreSQL, whose gateways run as another, and whose audit trail a third one
/// reads.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct FleetRolesTests {
    private let folder: TemporaryDirectory
    private let schema: String
    private let url: String

    init() async throws {
        folder = try TemporaryDirectory()
        let fleet = try await TestFleet.ofThisRun()
        url = try #require(fleet).membership.url
        schema = String(try #require(url.split(separator: "%3D").last))
        let maker = try PostgresDatabase(url)
        for role in ["owner", "control", "auditor"] {
            try await run("CREATE ROLE \(role)_\(schema) LOGIN", maker)
        }
        try await run("ALTER SCHEMA \(schema) OWNER TO owner_\(schema)", maker)
        await maker.close()
        try await GatewayDirectory.initialize(
            folder.file("gateway"), name: "localhost", protectedBy: .keyFile(folder.file("key")),
            database: url(of: "control"), asOwner: url(of: "owner"), through: TestFleet.databases)
    }

    private func url(of role: String) -> String {
        url.replacing("//sallyport@", with: "//\(role)_\(schema)@")
    }

    private func run(_ statement: String, _ database: PostgresDatabase) async throws {
        _ = try await database.transaction(.write) { try await $0.run(statement, []) }
    }

    private func run(_ statement: String, as role: String) async throws {
        let database = try PostgresDatabase(url(of: role))
        do { try await run(statement, database) } catch {
            await database.close()
            throw error
        }
        await database.close()
    }

    private func grant() async throws {
        let roles = FleetRoles(control: "control_\(schema)", auditor: "auditor_\(schema)", schema: schema)
        for statement in roles.statements { try await run(statement, as: "owner") }
    }

    private func started() async throws -> GatewayData {
        try await GatewayDirectory.open(
            folder.file("gateway"), protectedBy: .keyFile(folder.file("key")), through: TestFleet.databases)
    }

    private func enrolled(_ data: GatewayData) async throws -> PresentedCertificate {
        guard case .link(let text) = await data.perform(.issueKey(user: "ann", entitlement: "com.example.report"))
        else {
            throw TestFailure("no link")
        }
        let link = try ActivationLink(text)
        let chain = try await data.enroll(
            BasicCredentials(user: link.user, password: link.accessKey), request: DataFixture.request(),
            source: [127, 0, 0, 1])
        return try await data.presented(chain[0])
    }

    @Test func aGatewayDoesAllThatItDoesAsTheControlRole() async throws {
        try await grant()
        let data = try await started()
        for command: AdministrationCommand in [
            .addUser("ann"), .addApplication(entitlement: "com.example.report", version: "1.0.0.0"),
            .entitle(user: "ann", entitlement: "com.example.report", version: "1.0.0.0"),
        ] { #expect(await data.perform(command) == .done) }
        let presented = try await enrolled(data)
        _ = try await data.configuration(for: presented, version: EntitlementVersion("1.0.0.0"))
        let renewed = try await data.reenroll(presented, request: DataFixture.request())
        try await data.admitted(data.presented(renewed[0]))
        try await data.listens(controlPort: 1001, relayPort: 1002)
        try await data.leaveFleet()
        #expect(await data.perform(.removeGateway("localhost:1001")) == .done)
        _ = await data.perform(.authority(.rotate))
        _ = try await data.store.reviseRelays(audit: .maintenance("test", at: Date())) { _ in nil }
        #expect(
            await data.perform(.withdraw(instance: presented.name.instance.description, .lock)) == .done)
        #expect(
            await data.perform(
                .unentitle(user: "ann", entitlement: "com.example.report", version: "1.0.0.0", confirmed: true))
                == .done)
        try await data.forgetOldKeys()
        try await data.refresh()
        #expect(try await data.verifyAudit(against: data.checkpoint()).isSound)
        await data.close()
        let restoration = try await GatewayDirectory.restoreFleet(
            folder.file("gateway"), isConfirmed: true, protectedBy: .keyFile(folder.file("key")),
            through: TestFleet.databases)
        #expect(restoration.revision != nil)
        await (try started()).close()
    }

    @Test func theControlRoleRemovesEntriesOnlyBeyondWhatTheOwnerKeeps() async throws {
        try await grant()
        let data = try await started()
        for number in 0..<10 { #expect(await data.perform(.addUser("user\(number)")) == .done) }
        try await run("SELECT audit_prune(NULL, 1000)", as: "control")
        func numbers() async throws -> [Int64] {
            let head = try #require(try await data.store.auditHeads()[.administration])
            return try await data.store.auditRows(
                of: .administration, after: 0, through: head.number, limit: 100
            ).map(\.number)
        }
        #expect(try await numbers() == Array(1...10))
        try await run("UPDATE audit_retention SET administration = 5", as: "owner")
        var retention = AuditRetention()
        retention.administration = 5
        try await data.keepAudit(retention)
        #expect(try await numbers() == Array(6...10))
        #expect(try await data.verifyAudit(against: nil).isSound)
        await data.close()
    }

    @Test(arguments: [
        "UPDATE audit_admin SET at = 0", "DELETE FROM audit_admin", "TRUNCATE audit_admin",
        "UPDATE audit_access SET at = 0", "DELETE FROM audit_access", "DELETE FROM audit_checkpoint",
        "UPDATE audit_retention SET administration = 0", "DELETE FROM instance", "DELETE FROM fleet",
        "ALTER TABLE instance ADD COLUMN more bigint", "DROP TABLE audit_admin",
        "CREATE FUNCTION audit_prune(text) RETURNS void LANGUAGE sql AS ''",
    ])
    func theControlRoleIsRefused(_ statement: String) async throws {
        try await grant()
        await #expect(throws: GatewayError(.store, "")) { try await run(statement, as: "control") }
    }

    @Test func theAuditorReadsTheTrailAndNothingElse() async throws {
        try await grant()
        for table in ["audit_admin", "audit_access", "audit_chain", "audit_checkpoint"] {
            try await run("SELECT * FROM \(table)", as: "auditor")
            await #expect(throws: GatewayError(.store, "")) { try await run("DELETE FROM \(table)", as: "auditor") }
        }
        for table in ["fleet", "directory", "authority", "instance", "access_key", "gateway", "relay"] {
            await #expect(throws: GatewayError(.store, "")) { try await run("SELECT * FROM \(table)", as: "auditor") }
        }
        await #expect(throws: GatewayError(.store, "")) { try await run("SELECT audit_prune(NULL, 1)", as: "auditor") }
    }

    @Test func aRoleWithoutItsRightsIsToldWhereTheyAre() async throws {
        let error = await #expect(throws: GatewayError.self) { try await started() }
        #expect(error?.message.contains("gateway fleet roles") == true)
    }

    @Test func theOwnerMakesTheTablesOfALaterVersion() async throws {
        try await grant()
        try await FleetSchema.makeEarlier { try await run($0, as: "owner") }
        let error = await #expect(throws: GatewayError.self) { try await started() }
        #expect(error?.code == .store && error?.message.contains("gateway fleet upgrade") == true)
        let level = try await GatewayDirectory.upgradeFleet(
            folder.file("gateway"), asOwner: url(of: "owner"), protectedBy: .keyFile(folder.file("key")),
            through: TestFleet.databases)
        #expect(level == FleetSchema.level)
        try await grant()
        let data = try await started()
        #expect(await data.perform(.addUser("ann")) == .done)
        await data.close()
    }

    @Test func namesOfRolesAreQuoted() {
        let roles = FleetRoles(control: "a\"b", auditor: nil, schema: "S")
        #expect(roles.statements[0] == "GRANT USAGE ON SCHEMA \"S\" TO \"a\"\"b\"")
        #expect(!roles.statements.contains { $0.contains("auditor") })
        // To Swift, the mark is one character with the quotation mark before it.
        let combined = FleetRoles(control: "a\"\u{301}b", auditor: nil, schema: "S").statements[0]
        #expect(combined.utf8.elementsEqual("GRANT USAGE ON SCHEMA \"S\" TO \"a\"\"\u{301}b\"".utf8))
    }
}

extension FleetSchema {
    /// Takes the last level's tables away again, as those of a database that an earlier version has made.
    static func makeEarlier(_ run: (String) async throws -> Void) async throws {
        for statement in [
            "ALTER TABLE fleet DROP COLUMN mark", "ALTER TABLE instance DROP COLUMN announced",
            "DROP FUNCTION audit_prune", "DROP TABLE audit_retention",
            "UPDATE fleet SET feature_level = 4",
        ] { try await run(statement) }
    }
}
