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
    private struct TunnelOwner: Sendable {
        let fixture: ControlFixture
        let origin: TestOrigin
        let identity: ClientIdentity
        let tunnel: TestConnection

        static func with(_ body: @Sendable (TunnelOwner) async throws -> Void) async throws {
            let origin = try await TestOrigin(echoes: true)
            try await ControlFixture.with { fixture in
                try await fixture.data.perform(.addServer(.init(endpoint: "127.0.0.1:\(origin.port)")))
                let identity = try await fixture.activated()
                let (tunnel, status) = try await fixture.connect(to: origin.port, as: identity)
                try #require(status == 200)
                try await body(TunnelOwner(fixture: fixture, origin: origin, identity: identity, tunnel: tunnel))
            }
            try await origin.close()
        }

        /// Changes the policy in a way that does not concern the tunnel, so that every tunnel is judged again. Text
        /// that is sent after that comes back only through a tunnel that is still owner.
        func carries(_ text: String) async throws -> Bool {
            try await fixture.data.perform(.addServer(.init(endpoint: "\(text).example:443")))
            tunnel.send(text)
            guard let echoed = try? await tunnel.read(text.utf8.count) else { return false }
            return echoed == Array(text.utf8) && tunnel.isOpen
        }

        func isReset() async throws -> Bool { try await eventually { !tunnel.isOpen } }
    }

    @Test func aRenewalLeavesTunnelsAndRefusesTheOldCertificateEverythingNew() async throws {
        try await TunnelOwner.with { owner in
            let renewed = try await owner.fixture.renewed(owner.identity)
            #expect(try await owner.carries("a"))
            #expect(try await owner.fixture.document(as: renewed).status == .active)
            #expect(try await owner.carries("b"))
            #expect(try await owner.fixture.connect(to: owner.origin.port, as: owner.identity).status == 403)
            #expect(try await owner.fixture.get(ControlAPI.Path.configuration, as: owner.identity).status == 403)
            #expect(try await owner.fixture.connect(to: owner.origin.port, as: renewed).status == 200)
            #expect(try await owner.carries("c"))
        }
    }

    @Test func theFirstUseAtTheRelayLeavesTunnelsToo() async throws {
        try await TunnelOwner.with { owner in
            let renewed = try await owner.fixture.renewed(owner.identity)
            #expect(try await owner.fixture.connect(to: owner.origin.port, as: renewed).status == 200)
            // Until the gateway has recorded the new certificate's first use, the old one is accepted.
            var status = 200
            for _ in 0..<200 where status == 200 {
                status = try await owner.fixture.get(ControlAPI.Path.configuration, as: owner.identity).status
            }
            #expect(status == 403)
            #expect(try await owner.carries("a"))
        }
    }

    @Test(arguments: [AdministrationCommand.Withdrawal.block, .lock, .wipe])
    func aTunnelOfTheOldCertificateEndsWithItsInstance(_ withdrawal: AdministrationCommand.Withdrawal) async throws {
        try await TunnelOwner.with { owner in
            let renewed = try await owner.fixture.renewed(owner.identity)
            _ = try await owner.fixture.document(as: renewed)
            let name = try await owner.fixture.data.data.presented(renewed.certificates[0]).name
            try await owner.fixture.data.perform(.withdraw(instance: name.instance.description, withdrawal))
            #expect(try await owner.isReset())
        }
    }

    @Test func aCopiedStoreEndsTheTunnelsOfBoth() async throws {
        try await TunnelOwner.with { owner in
            let renewed = try await owner.fixture.renewed(owner.identity)
            _ = try await owner.fixture.document(as: renewed)
            let (second, status) = try await owner.fixture.connect(to: owner.origin.port, as: renewed)
            #expect(status == 200)
            #expect(try await owner.fixture.renew(as: owner.identity).status == 403)
            #expect(try await owner.isReset())
            #expect(try await eventually { !second.isOpen })
        }
    }

    @Test func aTunnelEndsWithTheAuthorityOfItsCertificate() async throws {
        try await TunnelOwner.with { owner in
            let data = owner.fixture.data.data
            for action in [AuthorityAction.rotate, .finish(confirmed: true)] {
                guard case .authority = await data.perform(.authority(action)) else { throw TestFailure("\(action)") }
            }
            #expect(try await owner.carries("a"))
            guard case .authority = await data.perform(.authority(.revoke(confirmed: true))) else {
                throw TestFailure("revoke")
            }
            #expect(try await owner.isReset())
        }
    }

    @Test func anExpiredCertificatesTunnelEndsWithItsGrace() async throws {
        try await TunnelOwner.with { owner async throws in
            owner.fixture.data.advance(8 * day)
            #expect(try await owner.carries("a"))
            #expect(try await owner.fixture.connect(to: owner.origin.port, as: owner.identity).status == 403)
            owner.fixture.data.advance(28.9 * day)
            #expect(try await owner.carries("b"))
            // No further change is needed: it is enough that the time is over.
            owner.fixture.data.advance(0.2 * day)
            #expect(try await owner.isReset())
        }
    }

    @Test func aRenewedInstancesTunnelOutlivesTheCertificateThatItWasOpenedWith() async throws {
        try await TunnelOwner.with { owner in
            owner.fixture.data.advance(5 * day)
            let renewed = try await owner.fixture.renewed(owner.identity)
            _ = try await owner.fixture.document(as: renewed)
            owner.fixture.data.advance(33 * day)
            #expect(try await owner.carries("a"))
            owner.fixture.data.advance(5 * day)
            #expect(try await owner.isReset())
        }
    }
}
