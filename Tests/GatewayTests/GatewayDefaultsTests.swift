import Foundation
import SallyportCore
import SallyportWire
import Testing

@testable import SallyportGateway

/// What a gateway does unless it is told otherwise, as the guides promise it.
@Suite struct GatewayDefaultsTests {
    @Test func limitsAndTimesAreThePromisedOnes() throws {
        let connections = ConnectionLimits()
        #expect(connections.perSource == 64)
        #expect(connections.handshakeTime == .seconds(5) && connections.requestTime == .seconds(15))
        #expect(Gateway.Configuration().maximumTunnels == 1024)
        let relay = RelayConfiguration(host: .v4(0x7f00_0001), port: 0, trust: [])
        #expect(relay.maximumTunnels == 1024)
        #expect(relay.dialTimeout == .seconds(10) && relay.idleTimeout == .seconds(600))
        #expect(ControlEvent.heartbeatSeconds == 2)
    }

    @Test func certificatesLastTenYearsNinetyDaysAndSevenDays() async throws {
        let day: TimeInterval = 86_400
        let now = Date()
        func isAbout(_ days: Double, _ end: Date?) -> Bool {
            end.map { abs($0.timeIntervalSince(now) / day - days) < 1 } ?? false
        }
        let stored = try CertificateAuthority.create(name: "one", now: now)
        #expect(isAbout(3650, CertificateAuthority.end(ofDER: stored.certificate)))
        let server = try CertificateAuthority(stored).server(host: "localhost", now: now)
        #expect(isAbout(90, CertificateAuthority.end(ofDER: server.certificate)))
        let fixture = try await DataFixture()
        let instance = try await fixture.chain(fixture.link(), DataFixture.request())[0]
        #expect(isAbout(7, CertificateAuthority.end(ofDER: instance)))
    }
}
