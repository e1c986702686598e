import SallyportAuthorization
import SallyportBase
import SallyportCore
import SallyportWire
import TestSupport
import Testing

/// The second question of a request, once there is a connection, with a real authorization.
@Suite struct ConfirmationTests {
    private let server: Endpoint

    init() throws { server = try Endpoint("app.example:443") }

    private func way(_ authorization: Authorization) throws -> (ServerWay, OpenConnection) {
        (
            try authorization.way(to: server, isSecure: true, offering: .standard),
            OpenConnection(to: server, through: nil, tlsVersion: nil)
        )
    }

    @Test(arguments: [(wall: Int64(86_401), uptime: Int64(0)), (wall: 0, uptime: 86_401)])
    func aLeaseThatRanOutOnTheWayRefusesTheConnection(_ passed: (wall: Int64, uptime: Int64)) async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let seen = Lock<[Access]>([])
        let observation = authorization.onAccessChange { change in seen.withLock { $0.append(change.to) } }
        let (way, open) = try way(authorization)
        try authorization.confirm(way, open)
        fixture.clock.advance(wall: passed.wall, uptime: passed.uptime)
        #expect(throws: LoadError(.withdrawn, "")) { try authorization.confirm(way, open) }
        #expect(seen.withLock { $0.last } == .withdrawn(.blocked), "the observers are told, too")
        withExtendedLifetime(observation) {}
    }

    @Test func aLeaseThatWasRenewedOnTheWayCounts() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let (way, open) = try way(authorization)
        fixture.clock.advance(wall: 80_000, uptime: 80_000)
        fixture.gateway.change { document in
            document.iat += 80_000
            document.leaseEnd += 80_000
        }
        try await authorization.authorize()
        fixture.clock.advance(wall: 10_000, uptime: 10_000)
        try authorization.confirm(way, open)
    }

    @Test func otherRulesOnTheWayAreApplied() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let (way, open) = try way(authorization)
        fixture.gateway.change { $0.defaultRoute = .init(route: .deny) }
        try await authorization.authorize()
        #expect(throws: LoadError(.refusedByPolicy, "")) { try authorization.confirm(way, open) }
    }

    @Test func aBlockOnTheWayIsApplied() async throws {
        let fixture = try Fixture()
        let (authorization, _) = try await fixture.activated()
        let (way, open) = try way(authorization)
        fixture.gateway.change { document in
            document.status = .blocked
            document.code = .blocked
        }
        _ = try? await authorization.authorize()
        #expect(throws: LoadError(.withdrawn, "")) { try authorization.confirm(way, open) }
    }
}
