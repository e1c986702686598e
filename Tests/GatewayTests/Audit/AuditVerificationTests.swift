import Foundation
import Logging
import SallyportPostgreSQL
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// What a verification finds, in both stores.
@Suite(.timeLimit(.minutes(1))) struct AuditVerificationTests {
    private let fixture: DataFixture

    init() async throws { fixture = try await DataFixture() }

    private func found(_ report: AuditReport) -> [String] { report.faults.map { "\($0.kind) \($0.number)" } }

    @Test func anUntouchedTrailIsSound() async throws {
        let report = try await fixture.report(against: fixture.data.checkpoint())
        #expect(report.isSound && report.checkpoint != nil)
        #expect(report.chains == [.init(chain: "administration", first: 1, last: 4)])
    }

    @Test func aChangedRowIsNamed() async throws {
        try await fixture.tamper(.change)
        #expect(try await found(fixture.report()) == ["changed 2"])
    }

    @Test func aDeletedRowIsNamed() async throws {
        try await fixture.tamper(.delete)
        #expect(try await found(fixture.report()) == ["missing 2"])
    }

    @Test func reorderedRowsAreNamed() async throws {
        try await fixture.tamper(.reorder)
        let numbers = try await fixture.report().faults.map(\.number)
        #expect(Set([2, 3]).isSubset(of: numbers))
    }

    @Test func aRowThatCannotBeReadIsNamed() async throws {
        guard let fleet = fixture.fleet else { return }
        try await fixture.run(
            fleet, "UPDATE audit_admin SET body = set_byte(body, 20, get_byte(body, 20) # 1) WHERE n = 3", [])
        #expect(try await found(fixture.report()) == ["unreadable 3"])
    }

    @Test func anEndThatWasCutOffIsFoundAgainstACheckpoint() async throws {
        let exported = try await fixture.data.checkpoint()
        try await fixture.tamper(.cut)
        #expect(try await found(fixture.report()) == ["cut 4"])
        // The store's own checkpoints can be removed with the end: the one that lay elsewhere tells.
        try await fixture.dropCheckpoints()
        #expect(try await fixture.report().isSound)
        let report = try await fixture.report(against: exported)
        #expect(found(report) == ["cut 4"] && report.faults.first?.origin == .given)
    }

    @Test func entriesThatWereWrittenAnewAreFoundAgainstACheckpoint() async throws {
        let exported = try await fixture.data.checkpoint()
        try await fixture.tamper(.cut)
        try await fixture.dropCheckpoints()
        // The gateway goes on as if nothing had happened.
        let again = try await fixture.restarted()
        _ = await again.perform(.addUser("another"))
        #expect(try await again.verifyAudit(against: nil).isSound)
        #expect(try await found(again.verifyAudit(against: exported)) == ["replaced 4"])
    }

    @Test func aCheckpointOfAnotherGatewayIsRefused() async throws {
        let stranger = try await DataFixture()
        let foreign = try await stranger.data.checkpoint()
        await #expect(throws: GatewayError(.unauthorized, "")) { try await fixture.report(against: foreign) }
        _ = try await fixture.data.checkpoint()
        try await fixture.replaceCheckpoint(with: foreign)
        #expect(try await found(fixture.report()).contains("unsigned 0"))
    }

    @Test func aChangedCheckpointIsRefused() async throws {
        let text = try await fixture.data.checkpoint()
        var parts = text.split(separator: ".").map(String.init)
        let payload = String(decoding: try Base64URL.decode(parts[1].utf8), as: UTF8.self)
        parts[1] = Base64URL.encode(Array(payload.replacing("\"number\":4", with: "\"number\":3").utf8))
        try #require(parts.joined(separator: ".") != text)
        await #expect(throws: GatewayError(.unauthorized, "")) {
            try await fixture.report(against: parts.joined(separator: "."))
        }
    }

    private func checkpoint(ofChains count: Int) -> AuditCheckpoint {
        let head = AuditHead(number: 250_000_000, hash: [UInt8](repeating: 255, count: AuditEntry.hashLength))
        let chains = (0..<count).map { _ in AuditChainName.access("\(UUID().uuidString).\(UUID().uuidString)") }
        let places = Dictionary(uniqueKeysWithValues: chains.map { ($0, head) })
        return AuditCheckpoint(
            number: 1, time: fixture.now.milliseconds, gateway: "localhost", heads: places, starts: places)
    }

    @Test func aCheckpointOfTheLargestFleetIsTrusted() async throws {
        let pairs = GatewayRecord.limit * RelayTable.limit
        let made = checkpoint(ofChains: pairs + GatewayRecord.limit + 2)
        let (signer, authorities) = await (fixture.data.signer, fixture.data.authorityDERs)
        let read = try AuditCheckpoint(verifying: made.signed(by: signer), authorities: authorities, generation: 1)
        #expect(read.heads == made.heads && read.starts == made.starts)
    }

    @Test func aCheckpointThatWouldBeTooLongToBeTrustedIsNotSigned() async throws {
        let made = checkpoint(ofChains: 12_000)
        let signer = await fixture.data.signer
        let error = #expect(throws: GatewayError.self) { try made.signed(by: signer) }
        #expect(error?.code == .store && error?.message.contains("12000 chains") == true)
    }

    @Test(arguments: ["", "nonsense", "a.b.c"]) func whatIsNoCheckpointIsInvalid(_ text: String) async throws {
        await #expect(throws: GatewayError(.invalid, "")) { try await fixture.report(against: text) }
    }

    /// The key signs configurations too: neither is taken for the other.
    @Test func aConfigurationIsNoCheckpoint() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let configuration = try await fixture.data.configuration(for: presented, version: nil)
        await #expect(throws: GatewayError(.invalid, "")) { try await fixture.report(against: configuration) }
    }

    @Test func aCheckpointOutlivesARotationAndARevocation() async throws {
        let exported = try await fixture.data.checkpoint()
        for action: AuthorityAction in [.rotate, .finish(confirmed: true), .revoke(confirmed: false)] {
            _ = await fixture.data.perform(.authority(action))
        }
        #expect(try await fixture.report(against: exported).isSound)
        let revoked = await fixture.data.perform(.authority(.revoke(confirmed: true)))
        guard case .authority = revoked else { Issue.record("\(revoked)"); return }
        #expect(try await fixture.report().isSound)
    }

    @Test func aGatewayThatEndsWithItsRevocationLeavesACheckpointThatIsTrusted() async throws {
        _ = try await fixture.data.checkpoint()
        let (store, other) = try await fixture.faulty()
        store.failAfterRevision()
        _ = await other.perform(.authority(.revoke(confirmed: true)))
        try await fixture.data.catchUp()
        #expect(await fixture.data.authorities.record.signers == 2)
        #expect(try await fixture.report().isSound)
        _ = try await fixture.data.checkpoint()
        #expect(try await fixture.report().isSound)
    }

    @Test func aGatewayThatHasNotHeardOfARevocationSignsACheckpointThatIsTrusted() async throws {
        let (_, other) = try await fixture.faulty()
        _ = await fixture.data.perform(.authority(.revoke(confirmed: true)))
        try await fixture.perform(.addUser("late"))
        _ = try await other.checkpoint()
        #expect(try await fixture.report().isSound)
    }

    /// The revocation that was refused leaves a checkpoint whose signer is of the next generation.
    @Test func checkpointsAreMadeAfterARevocationThatWasNotConfirmed() async throws {
        _ = try await fixture.data.checkpoint()
        for action: AuthorityAction in [.rotate, .finish(confirmed: true), .revoke(confirmed: false)] {
            _ = await fixture.data.perform(.authority(action))
        }
        try await fixture.perform(.addUser("late"))
        _ = try await fixture.data.checkpoint()
        _ = await fixture.data.perform(.authority(.revoke(confirmed: true)))
        #expect(await fixture.data.authorities.record.signers == 2)
        #expect(try await fixture.report().isSound)
    }

    @Test func whatIsBeyondTheLimitsIsRemovedAndTheRestVerifies() async throws {
        for number in 0..<10 { try await fixture.perform(.addUser("user\(number)")) }
        let exported = try await fixture.data.checkpoint()
        var retention = AuditRetention()
        retention.administration = 5
        try await fixture.keepAudit(retention)
        let entries = try await fixture.entries()
        #expect(entries.map(\.number) == [10, 11, 12, 13, 14])
        let report = try await fixture.report(against: exported)
        #expect(report.isSound)
        #expect(report.chains.first == .init(chain: "administration", first: 10, last: 14))
        // Without the signed start, the removed entries are missing.
        try await fixture.dropCheckpoints()
        #expect(try await found(fixture.report()) == ["missing 1"])
    }

    @Test func whatAnotherGatewayRemovesMeanwhileIsNoChange() async throws {
        _ = try await fixture.data.checkpoint()
        let (store, other) = try await fixture.faulty()
        store.interrupt { [fixture] in
            for number in 0..<10 { try await fixture.perform(.addUser("user\(number)")) }
            var retention = AuditRetention()
            retention.administration = 5
            try await fixture.keepAudit(retention)
        }
        _ = try await other.checkpoint()
        #expect(try await fixture.entries().map(\.number) == [10, 11, 12, 13, 14])
        #expect(try await fixture.report().isSound)
    }

    @Test(arguments: [DataFixture.Tampering.change, .delete, .reorder])
    func whatWasChangedIsNotRemoved(_ tampering: DataFixture.Tampering) async throws {
        try await fixture.tamper(tampering)
        var retention = AuditRetention()
        retention.administration = 1
        await #expect(throws: GatewayError(.store, "")) { try await fixture.keepAudit(retention) }
        #expect(try await !fixture.report().isSound)
    }

    @Test func anEndThatWasCutOffIsNotSigned() async throws {
        _ = try await fixture.data.checkpoint()
        try await fixture.tamper(.cut)
        await #expect(throws: GatewayError(.store, "")) { try await fixture.data.checkpoint() }
        #expect(try await found(fixture.report()) == ["cut 4"])
    }

    @Test func oneMoreThanTheLimitIsRemovedAndNotOneMore() async throws {
        var retention = AuditRetention()
        retention.administration = 4
        try await fixture.keepAudit(retention)
        #expect(try await fixture.entries().count == 4)
        try await fixture.perform(.addUser("bob"))
        try await fixture.keepAudit(retention)
        #expect(try await fixture.entries().map(\.number) == [2, 3, 4, 5])
    }

    @Test func renewalsPushOutNothingThatAdministratorsHaveDone() async throws {
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let before = try await fixture.entries()
        for _ in 0..<10 { _ = try await fixture.data.reenroll(presented, request: DataFixture.request()) }
        var retention = AuditRetention()
        (retention.administration, retention.access) = (Int64(before.count), 5)
        try await fixture.keepAudit(retention)
        #expect(try await fixture.entries() == before)
        #expect(try await fixture.entries(of: .renewals).map(\.number) == [6, 7, 8, 9, 10])
        #expect(try await fixture.report().isSound)
    }

    @Test func entriesOfAccessAreRemovedByAge() async throws {
        let recorder = AuditRecorder { [fixture] in fixture.now }
        let trail = AuditTrail(
            recorder, fixture.data, at: "localhost", to: AuditOutlets([], logger: .init(label: "test")),
            logger: .init(label: "test"))
        recorder.connect(nil, nil, address: nil, error: "http_request_error")
        await trail.finish()
        fixture.advance(90 * 86_400 + 1)
        try await fixture.data.renewOwnCertificates()
        recorder.connect(nil, nil, address: nil, error: "http_request_error")
        await trail.finish()
        try await fixture.keepAudit()
        #expect(try await fixture.accessEntries().map(\.number) == [3, 4])
        #expect(try await fixture.report().isSound)
    }

    @Test func aDatabaseWhoseTrailWasPutBackIsNotWrittenTo() async throws {
        guard fixture.fleet != nil else { return }
        try await fixture.tamper(.cut)
        guard case .failure(let failure) = await fixture.data.perform(.addUser("eve")) else {
            Issue.record("it was written to")
            return
        }
        #expect(failure.name == "store")
    }
}

/// Databases of earlier versions.
@Suite(.enabled(if: !TestFleet.isStandalone), .timeLimit(.minutes(1))) struct AuditUpgradeTests {
    @Test func theFirstGatewayOfThisVersionMakesTheTables() async throws {
        let fixture = try await DataFixture()
        let fleet = try #require(fixture.fleet)
        try await FleetSchema.makeEarlier { try await fixture.run(fleet, $0, []) }
        for table in ["audit_chain", "audit_admin", "audit_access", "audit_checkpoint", "gateway", "relay"] {
            try await fixture.run(fleet, "DROP TABLE \(table)", [])
        }
        try await fixture.run(fleet, "ALTER TABLE fleet DROP COLUMN gateways", [])
        try await fixture.run(fleet, "UPDATE fleet SET feature_level = 1", [])
        async let first = fixture.restarted()
        async let second = fixture.restarted()
        let gateways = try await [first, second]
        #expect(await gateways[0].perform(.addUser("bob")) == .done)
        #expect(await gateways[1].perform(.addUser("carl")) == .done)
        #expect(try await gateways[0].verifyAudit(against: nil).isSound)
        #expect(try await fixture.entries().compactMap { $0[.user] } == ["bob", "carl"])
    }

    @Test func aDatabaseOfALaterVersionTakesNoEntry() async throws {
        let fixture = try await DataFixture()
        try await fixture.run(#require(fixture.fleet), "UPDATE fleet SET feature_level = feature_level + 1", [])
        let before = try await fixture.entries().count
        guard
            case .failure(let failure) = await fixture.data.perform(
                .issueKey(user: "ann", entitlement: "com.example.report"))
        else { Issue.record("it was written to"); return }
        #expect(failure.name == "store")
        #expect(try await fixture.entries().count == before)
    }

    @Test func noBodyContainsAName() async throws {
        let fixture = try await DataFixture()
        let database = try #require(fixture.fleet).owner()
        let rows = try await database.transaction(.read) { try await $0.run("SELECT body FROM audit_admin", []) }
        await database.close()
        #expect(!rows.isEmpty)
        for row in rows { #expect(!String(decoding: try row.bytes(0), as: UTF8.self).contains("ann")) }
    }
}
