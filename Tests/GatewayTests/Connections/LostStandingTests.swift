import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// Clients of the control port that are withdrawn or removed while they are connected.
@Suite(.timeLimit(.minutes(2))) struct LostStandingTests {
    /// Opens a connection, whose handshake is over at the gateway too.
    private static func connected(
        as identity: ClientIdentity? = nil, to fixture: ControlFixture
    ) async throws -> TestConnection {
        let client = try await fixture.connection(as: identity)
        client.send("GET \(ControlAPI.Path.health) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try await client.head().hasPrefix("HTTP/1.1 200"))
        _ = try await client.read(16)
        return client
    }

    /// Expects that a client's connection gives way to strangers' once the client has lost its standing, and not before.
    private static func expectToGiveWay(
        _ identity: ClientIdentity, at fixture: ControlFixture, once change: AdministrationCommand
    ) async throws {
        let client = try await connected(as: identity, to: fixture)
        // A source has one such connection: each of these takes the place of the one before.
        for _ in 0..<2 { _ = try await connected(to: fixture) }
        #expect(client.isOpen)
        try await fixture.data.perform(change)
        _ = try await connected(to: fixture)
        #expect(try await eventually { !client.isOpen })
    }

    private func withOnePlace(_ body: @Sendable (ControlFixture) async throws -> Void) async throws {
        var limits = ConnectionLimits.slow()
        limits.perSource = 1
        try await ControlFixture.with(limits: limits, body)
    }

    @Test(arguments: [AdministrationCommand.Withdrawal.block, .lock])
    func theConnectionOfAWithdrawnInstanceGivesWay(_ withdrawal: AdministrationCommand.Withdrawal) async throws {
        try await withOnePlace { fixture in
            let identity = try await fixture.activated()
            let id = try await fixture.data.data.presented(identity.certificates[0]).name.instance.description
            try await Self.expectToGiveWay(identity, at: fixture, once: .withdraw(instance: id, withdrawal))
        }
    }

    @Test func theConnectionOfAnInstanceWhoseUserIsRemovedGivesWay() async throws {
        try await withOnePlace { fixture in
            let identity = try await fixture.activated()
            try await Self.expectToGiveWay(identity, at: fixture, once: .removeUser("ann", confirmed: true))
        }
    }

    @Test func theConnectionOfARemovedRelayGivesWay() async throws {
        try await withOnePlace { fixture in
            let relay = try await EnrolledRelay.enrolled(at: fixture.data.data)
            try await Self.expectToGiveWay(relay.identity, at: fixture, once: .removeRelay(name: relay.name))
        }
    }

    @Test func aRemovedRelayIsNotInGoodStandingOnNewConnectionsEither() async throws {
        let fixture = try await DataFixture()
        let relay = try await EnrolledRelay.enrolled(at: fixture.data)
        let current = await fixture.data.currentState()
        let certificate = relay.membership.client.certificate
        #expect(current.relayInGoodStanding(presenting: certificate) != nil)
        try await fixture.perform(.removeRelay(name: relay.name))
        #expect(current.relayInGoodStanding(presenting: certificate) == nil)
    }

    @Test func aRelayWhoseCertificateHasExpiredIsNotInGoodStanding() async throws {
        let fixture = try await DataFixture()
        let relay = try await EnrolledRelay.enrolled(at: fixture.data)
        let current = await fixture.data.currentState()
        fixture.advance(CertificateAuthority.Lifetime.gateway + 1)
        #expect(current.relayInGoodStanding(presenting: relay.membership.client.certificate) == nil)
    }
}
