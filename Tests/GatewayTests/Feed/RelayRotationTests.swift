import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// Relays on machines of their own, while the authority of their fleet changes.
@Suite(.timeLimit(.minutes(2))) struct RelayRotationTests {
    private func perform(_ action: AuthorityAction, at data: GatewayData) async throws {
        let reply = await data.perform(.authority(action))
        guard case .authority = reply else { throw TestFailure("\(reply)") }
    }

    @Test func aRelayRenewsWithTheAuthorityAndOutlivesARevocation() async throws {
        try await FeedFixture.with { fixture in
            _ = try await fixture.relay.tunnel(to: fixture.origin.port, as: fixture.identity)
            let data = fixture.control.data.data
            try await perform(.rotate, at: data)
            try await perform(.finish(confirmed: true), at: data)
            let identity = try await fixture.control.activated()
            // An app that accepts the authority in force only.
            let relay = RunningRelay(
                name: fixture.enrolled.name, port: fixture.relay.port, metricsPort: nil,
                authority: await data.authorityDER)
            defer { relay.leave() }
            let hasRenewed = try await eventually(within: .seconds(20)) {
                let answer = try? await relay.connect(to: fixture.origin.port, as: identity)
                return answer?.status == 200
            }
            try #require(hasRenewed)
            // Its certificate for the feed is another one, too: that of the former authority is refused from here on.
            try await perform(.revoke(confirmed: true), at: data)
            let instance = try await data.presented(identity.certificates[0]).name.instance.description
            let reply = try await fixture.administer(.withdraw(instance: instance, .lock))
            guard case .atRelays(.done, let report) = reply else { throw TestFailure("\(reply)") }
            #expect(report.inForce == 1 && report.missing.isEmpty)
            #expect(try await relay.connect(to: fixture.origin.port, as: identity).status == 403)
        }
    }

    /// A relay that is switched off, or was not reached, renews later.
    @Test func appsAcceptARelayOfAFormerAuthorityUntilARevocation() async throws {
        let fixture = try await DataFixture()
        let former = await fixture.data.authorityDER
        try await perform(.rotate, at: fixture.data)
        try await perform(.finish(confirmed: true), at: fixture.data)
        let presented = try await fixture.enroll(fixture.link(), DataFixture.request())
        let during = try await fixture.document(presented)
        let present = await fixture.data.authorityDER
        #expect(during.trust.authorities == [present])
        #expect(during.clusters.map(\.name) == ["main"] && during.clusters[0].authorities == [present, former])
        try await perform(.revoke(confirmed: true), at: fixture.data)
        let after = try await fixture.document(presented)
        #expect(after.clusters.map(\.authorities) == [[present]])
    }
}
