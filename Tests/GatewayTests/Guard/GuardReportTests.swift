import Foundation
import SallyportCore
import SallyportSecureStore
import SallyportWire
import Testing

@testable import SallyportGateway

/// What an administrator is told of guards on machines of their own.
@Suite(.timeLimit(.minutes(2))) struct GuardReportTests {
    /// Enrols a guard, which does not run.
    private func enrolled(at data: GatewayData) async throws -> RelayIdentifier {
        let request = try RelayRequest(RelayPending(name: "squid.example", cluster: "main"))
        _ = await data.perform(.invite(request: try request.text))
        return try #require(await data.relays.relays.first).id
    }

    @Test func oneThatEndsNoTunnelIsNamed() async throws {
        try await ControlFixture.with(DataFixture(standsStill: false), patience: .relaysAnswer) { control in
            let identity = try await control.activated()
            let presented = try await control.data.data.presented(identity.certificates[0])
            let enrolled = try await EnrolledRelay.enrolled(at: control.data.data)
            let settings = Gateway.RelayGuardSettings(path: "\(enrolled.path)/guard.sock", port: nil)
            try await enrolled.run(as: settings) { _ in
                let client = AdministrationClient(
                    data: control.data.path, protectedBy: .keyFile("\(control.data.path)/key"))
                let reply = try await client.perform(
                    .withdraw(instance: presented.name.instance.description, .lock))
                guard case .atRelays(.done, let report) = reply else { throw TestFailure("\(reply)") }
                #expect(report.inForce == 0 && report.relays == 1)
                #expect(report.missing.map(\.name) == [enrolled.name])
                #expect(report.missing.first?.leavesOpen == true)
                guard case .relays(let relays) = try await client.perform(.listRelays) else {
                    throw TestFailure("no list")
                }
                #expect(relays.first?.leavesOpen == true && relays.first?.applied ?? 0 > 0)
            }
        }
    }

    @Test func oneThatLeavesTunnelsOpenIsNotWaitedForOnceItJudgesByTheChange() async throws {
        let fixture = try await DataFixture()
        let id = try await enrolled(at: fixture.data)
        let hub = FeedHub.patient(fixture.data)
        await hub.received(FeedReport(applied: 7, echo: 1, port: 1, leavesOpen: true), from: id)
        let report = try #require(await hub.report(on: 7, since: .now))
        #expect(report.inForce == 0 && report.missing.map(\.leavesOpen) == [true])
        #expect(report.milliseconds < 30_000)
        await hub.received(FeedReport(applied: 7, echo: 2, port: 1), from: id)
        #expect(await hub.report(on: 7, since: .now)?.inForce == 1)
    }

    @Test func oneThatHasNotAppliedTheChangeIsNamedForThat() async throws {
        let fixture = try await DataFixture()
        let id = try await enrolled(at: fixture.data)
        let hub = FeedHub(fixture.data, lease: .seconds(300), gate: LeaseGate(), patience: .milliseconds(1))
        await hub.received(FeedReport(applied: 6, echo: 1, port: 1, leavesOpen: true), from: id)
        let report = try #require(await hub.report(on: 7, since: .now))
        #expect(report.inForce == 0 && report.missing.map(\.leavesOpen) == [nil])
    }

    /// As one of an earlier version is too, which knows no such member.
    @Test func aReportWithoutTheMemberIsOfOneThatEndsTunnels() throws {
        let bytes = try FeedCoding.encoder.encode(FeedReport(applied: 1, echo: 1, port: 1))
        #expect(!String(decoding: bytes, as: UTF8.self).contains("leavesOpen"))
        #expect(try FeedCoding.decoder.decode(FeedReport.self, from: bytes).leavesOpen == nil)
    }
}
