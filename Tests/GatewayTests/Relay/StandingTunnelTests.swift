import Foundation
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// In seconds.
private let day: TimeInterval = 86_400

/// What happens to an open tunnel while certificates are renewed and expire, at a running gateway.
@Suite(.timeLimit(.minutes(1))) struct StandingTunnelTests {
    /// A gateway, an instance and its open tunnel to a server that echoes.
    private struct World: Sendable {
        let fixture: ControlFixture
        let origin: TestOrigin
        let identity: ClientIdentity
        let tunnel: TestConnection

        static func with(_ body: @Sendable (World) async throws -> Void) async throws {
            let origin = try await TestOrigin(echoes: true)
            try await ControlFixture.with { fixture in
                try await fixture.data.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
                let identity = try await fixture.activated()
                let (tunnel, status) = try await fixture.connect(to: origin.port, as: identity)
                try #require(status == 200)
                try await body(World(fixture: fixture, origin: origin, identity: identity, tunnel: tunnel))
            }
            try await origin.close()
        }

        /// Changes the policy in a way that does not concern the tunnel, so that every tunnel is judged again. Text
        /// that is sent after that comes back only through a tunnel that is still open.
        func carries(_ text: String) async throws -> Bool {
            try await fixture.data.perform(.addServer(.init(endpoint: "\(text).example:443")))
            tunnel.send(text)
            guard let echoed = try? await tunnel.read(text.utf8.count) else { return false }
            return echoed == Array(text.utf8) && tunnel.isOpen
        }

        func isReset() async throws -> Bool { try await eventually { !tunnel.isOpen } }
    }

    @Test func aRenewalLeavesTunnelsAndRefusesTheOldCertificateEverythingNew() async throws {
        try await World.with { world in
            let renewed = try await world.fixture.renewed(world.identity)
            #expect(try await world.carries("a"))
            #expect(try await world.fixture.document(as: renewed).status == .active)
            #expect(try await world.carries("b"))
            #expect(try await world.fixture.connect(to: world.origin.port, as: world.identity).status == 403)
            #expect(try await world.fixture.get(ControlAPI.Path.configuration, as: world.identity).status == 403)
            #expect(try await world.fixture.connect(to: world.origin.port, as: renewed).status == 200)
            #expect(try await world.carries("c"))
        }
    }

    @Test func theFirstUseAtTheRelayLeavesTunnelsToo() async throws {
        try await World.with { world in
            let renewed = try await world.fixture.renewed(world.identity)
            #expect(try await world.fixture.connect(to: world.origin.port, as: renewed).status == 200)
            // Until the gateway has recorded the new certificate's first use, the old one is accepted.
            var status = 200
            for _ in 0..<200 where status == 200 {
                status = try await world.fixture.get(ControlAPI.Path.configuration, as: world.identity).status
            }
            #expect(status == 403)
            #expect(try await world.carries("a"))
        }
    }

    @Test(arguments: [AdministrationCommand.Withdrawal.block, .lock, .wipe])
    func aTunnelOfTheOldCertificateEndsWithItsInstance(_ withdrawal: AdministrationCommand.Withdrawal) async throws {
        try await World.with { world in
            let renewed = try await world.fixture.renewed(world.identity)
            _ = try await world.fixture.document(as: renewed)
            let name = try await world.fixture.data.data.presented(renewed.certificates[0]).name
            try await world.fixture.data.perform(.withdraw(instance: name.instance.description, withdrawal))
            #expect(try await world.isReset())
        }
    }

    @Test func aCopiedStoreEndsTheTunnelsOfBoth() async throws {
        try await World.with { world in
            let renewed = try await world.fixture.renewed(world.identity)
            _ = try await world.fixture.document(as: renewed)
            let (second, status) = try await world.fixture.connect(to: world.origin.port, as: renewed)
            #expect(status == 200)
            #expect(try await world.fixture.renew(as: world.identity).status == 403)
            #expect(try await world.isReset())
            #expect(try await eventually { !second.isOpen })
        }
    }

    @Test func aTunnelEndsWithTheAuthorityOfItsCertificate() async throws {
        try await World.with { world in
            let data = world.fixture.data.data
            for action in [AuthorityAction.rotate, .finish(confirmed: true)] {
                guard case .authority = await data.perform(.authority(action)) else { throw TestFailure("\(action)") }
            }
            #expect(try await world.carries("a"))
            guard case .authority = await data.perform(.authority(.revoke(confirmed: true))) else {
                throw TestFailure("revoke")
            }
            #expect(try await world.isReset())
        }
    }

    @Test func anExpiredCertificatesTunnelEndsWithItsGrace() async throws {
        try await World.with { world async throws in
            world.fixture.data.advance(8 * day)
            #expect(try await world.carries("a"))
            #expect(try await world.fixture.connect(to: world.origin.port, as: world.identity).status == 403)
            world.fixture.data.advance(28.9 * day)
            #expect(try await world.carries("b"))
            // No further change is needed: it is enough that the time is over.
            world.fixture.data.advance(0.2 * day)
            #expect(try await world.isReset())
        }
    }

    @Test func aRenewedInstancesTunnelOutlivesTheCertificateThatItWasOpenedWith() async throws {
        try await World.with { world in
            world.fixture.data.advance(5 * day)
            let renewed = try await world.fixture.renewed(world.identity)
            _ = try await world.fixture.document(as: renewed)
            world.fixture.data.advance(33 * day)
            #expect(try await world.carries("a"))
            world.fixture.data.advance(5 * day)
            #expect(try await world.isReset())
        }
    }
}
