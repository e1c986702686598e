import SallyportBase
import TestSupport
import Testing

@testable import SallyportGateway

/// Certificates that the relay does not know at the handshake: another gateway may have issued them a moment ago.
@Suite(.timeLimit(.minutes(1))) struct CertificateNewsTests {
    private static let allowed = RelayVerdict.allowed(instance: "one", address: nil, mayBeLocal: true)

    @Test func oneThatBecomesKnownWhileItsConnectWaitsHasATunnel() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            fixture.policy.set(.unknown)
            fixture.policy.news.withLock { $0 = { $0.set(Self.allowed) } }
            let tunnel = try await fixture.tunnel(to: origin.port)
            tunnel.send("hello")
            #expect(try await tunnel.read(5) == Array("hello".utf8))
        }
        try await origin.close()
    }

    @Test func oneThatBecomesKnownBeforeItsConnectHasATunnel() async throws {
        let origin = try await TestOrigin(echoes: true)
        try await RelayFixture.with { fixture in
            fixture.policy.set(.unknown)
            let connection = try await fixture.connect()
            // In TLS 1.3 the client's handshake is over before the relay has seen its certificate.
            #expect(try await eventually { fixture.policy.handshakes.withLock { $0 } == 1 })
            fixture.policy.set(Self.allowed)
            connection.send("CONNECT 127.0.0.1:\(origin.port) HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\n\r\n")
            let head = try await connection.head()
            #expect(head.hasPrefix("HTTP/1.1 200"))
            connection.close()
        }
        try await origin.close()
    }

    @Test func itsConnectionCountsForItsInstanceFromThenOn() async throws {
        let origin = try await TestOrigin(echoes: true)
        var limits = ConnectionLimits()
        limits.perInstance = 1
        try await RelayFixture.with(limits: limits) { fixture in
            fixture.policy.set(.unknown)
            fixture.policy.news.withLock { $0 = { $0.set(Self.allowed) } }
            let tunnel = try await fixture.tunnel(to: origin.port)
            fixture.policy.set(.unknown)
            let refusal = try await fixture.refusal(connecting: "127.0.0.1:\(origin.port)")
            #expect(refusal.hasPrefix("HTTP/1.1 503"))
            #expect(refusal.contains("connection_limit_reached"))
            tunnel.close()
        }
        try await origin.close()
    }

    @Test func oneOfWhichThereIsNoNewsIsRefused() async throws {
        try await RelayFixture.with { fixture in
            fixture.policy.set(.unknown)
            let refusal = try await fixture.refusal(connecting: "127.0.0.1:9")
            #expect(refusal.hasPrefix("HTTP/1.1 403"))
        }
    }

    @Test func anInstanceThatTheRelayCannotLookUpIsToTryAnotherRelay() async throws {
        try await RelayFixture.with { fixture in
            fixture.policy.set(.unknown)
            fixture.policy.isCutOff.withLock { $0 = true }
            let refusal = try await fixture.refusal(connecting: "127.0.0.1:9")
            #expect(refusal.hasPrefix("HTTP/1.1 503"))
            #expect(refusal.contains("proxy_internal_error"))
        }
    }
}
