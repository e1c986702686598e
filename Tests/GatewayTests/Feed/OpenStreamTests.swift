import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// Streams that are open when the certificate that admitted them counts no longer.
@Suite(.timeLimit(.minutes(2))) struct OpenStreamTests {
    enum End: CaseIterable {
        case expiry, authority
    }

    /// Has certificates that were issued before count no longer.
    private static func come(_ end: End, of lifetime: Double, at fixture: ControlFixture) async throws {
        switch end {
        case .expiry: fixture.data.advance(lifetime + 1)
        case .authority:
            for action: AuthorityAction in [.rotate, .finish(confirmed: true), .revoke(confirmed: true)] {
                guard case .authority = await fixture.data.data.perform(.authority(action)) else {
                    throw TestFailure("\(action) was refused.")
                }
            }
        }
    }

    /// Opens a stream of which the gateway says that it is the last answer of its connection.
    private static func opened(
        _ path: String, as identity: ClientIdentity, at fixture: ControlFixture
    ) async throws -> TestConnection {
        let stream = try await fixture.connection(as: identity)
        stream.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(try await stream.head().hasPrefix("HTTP/1.1 200"))
        return stream
    }

    /// The rest of a stream, which has to end as an answer does that is complete.
    private static func rest(of stream: TestConnection) async throws -> String {
        let text = String(decoding: try await stream.rest(), as: UTF8.self)
        #expect(text.hasSuffix("0\r\n\r\n"))
        return text
    }

    @Test(arguments: End.allCases)
    func theFeedOfARelayEndsAndDoesNotSayThatTheRelayWasRemoved(_ end: End) async throws {
        try await ControlFixture.with { fixture in
            let relay = try await EnrolledRelay.enrolled(at: fixture.data.data)
            let stream = try await Self.opened(FeedAPI.feed, as: relay.identity, at: fixture)
            try await Self.come(end, of: CertificateAuthority.Lifetime.gateway, at: fixture)
            let rest = try await Self.rest(of: stream)
            #expect(!rest.contains("removed"))
        }
    }

    @Test(arguments: End.allCases) func theEventsOfAnInstanceEnd(_ end: End) async throws {
        try await ControlFixture.with { fixture in
            let identity = try await fixture.activated()
            let stream = try await Self.opened(ControlAPI.Path.events, as: identity, at: fixture)
            try await Self.come(end, of: CertificateAuthority.Lifetime.instance, at: fixture)
            _ = try await Self.rest(of: stream)
        }
    }

    /// Its certificates count until the rotation's time is over, or a revocation.
    @Test func aRotationAloneEndsNoFeed() async throws {
        let fixture = try await DataFixture()
        let relay = try await EnrolledRelay.enrolled(at: fixture.data)
        let presented = try await fixture.data.currentState().relay(presenting: relay.membership.client.certificate)
        for action: AuthorityAction in [.rotate, .finish(confirmed: true)] {
            _ = await fixture.data.perform(.authority(action))
        }
        #expect(await fixture.data.admits(presented))
        _ = await fixture.data.perform(.authority(.revoke(confirmed: true)))
        #expect(await !fixture.data.admits(presented))
    }
}
