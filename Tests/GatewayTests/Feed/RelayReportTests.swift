import SallyportCore
import Testing

@testable import SallyportGateway

/// Which commands wait for relays.
@Suite struct RelayReportTests {
    private static let taking: [AdministrationCommand] = [
        .apply(yaml: "", prune: false, dryRun: false, confirmed: false), .removeUser("ann", confirmed: true),
        .removeApplication(entitlement: "com.example.report", version: "1.0.0.0", confirmed: true),
        .unentitle(user: "ann", entitlement: "com.example.report", version: "1.0.0.0", confirmed: true),
        .addServer(.init(endpoint: "a.example:443", route: "deny")),
        .addServer(.init(endpoint: "a.example:443", route: "direct")), .removeServer(endpoint: "a.example:443"),
        .setRoute(domain: "corp.example", route: "relay", ports: nil), .removeRoute(domain: "corp.example"),
        .setDefaultDomains([]), .setCluster(name: "squid", relays: [.init(endpoint: "squid.example:3129")]),
        .removeCluster(name: "squid"), .removeGateway("b.example"), .authority(.finish(confirmed: false)),
        .authority(.revoke(confirmed: false)), .withdraw(instance: "", .block), .withdraw(instance: "", .lockIdle),
        .withdraw(instance: "", .wipe),
    ]

    private static let others: [AdministrationCommand] = [
        .apply(yaml: "", prune: true, dryRun: true, confirmed: false), .addUser("ann"),
        .addServer(.init(endpoint: "a.example:443")),
        .addServer(.init(endpoint: "a.example:443", route: "relay:squid")), .authority(.status), .authority(.rotate),
        .withdraw(instance: "", .unblock), .withdraw(instance: "", .unlock), .removeRelay(name: "relay-a.example"),
        .setTLSFloor(version: "1.3"), .showFleet,
    ]

    @Test func whatAllRelaysHaveAlreadyIsReportedAtOnce() async throws {
        let fixture = try await DataFixture()
        let request = try RelayRequest(RelayPending(name: "relay-a.example", cluster: "main"))
        _ = await fixture.data.perform(.invite(request: try request.text))
        let relay = try #require(await fixture.data.relays.relays.first)
        let hub = FeedHub.patient(fixture.data)
        await hub.received(FeedReport(applied: 7, echo: 1, port: 1), from: relay.id)
        let report = try #require(await hub.report(on: 7, since: .now))
        #expect(report.inForce == 1 && report.missing.isEmpty)
        #expect(report.milliseconds < 30_000)
    }

    @Test(arguments: taking) func whatTakesSomethingAwayWaits(_ command: AdministrationCommand) {
        #expect(command.withdraws)
    }

    @Test(arguments: others) func whatRelaysDoNotJudgeByDoesNot(_ command: AdministrationCommand) {
        #expect(!command.withdraws)
    }
}
