import Sallyport
import SallyportAuthToken
import SallyportAuthTokenVerification
import SallyportBase
import Testing

@testable import SallyportGateway

/// One token of a gateway that runs, looked at both ways while what it was issued for is taken away.
@Suite(.timeLimit(.minutes(2))) struct TokenWithdrawalTests {
    enum Withdrawal: CaseIterable, Sendable {
        case block, lock, wipe, unentitle, removeUser

        func perform(in enterprise: Enterprise) async throws {
            switch self {
            case .block: try await enterprise.withdraw(.block)
            case .lock: try await enterprise.withdraw(.lock)
            case .wipe: try await enterprise.withdraw(.wipe)
            case .unentitle:
                try await enterprise.admin(
                    .unentitle(
                        user: Enterprise.user, entitlement: Enterprise.entitlement, version: "1.0.0.0", confirmed: true)
                )
            case .removeUser: try await enterprise.admin(.removeUser(Enterprise.user, confirmed: true))
            }
        }

        var verdict: AuthTokenVerificationError.Code { self == .removeUser ? .userRemoved : .withdrawn }
    }

    @Test(arguments: Withdrawal.allCases)
    func onlineItIsSeenAtOnceAndOfflineWhenTheTokenIsOver(_ withdrawal: Withdrawal) async throws {
        try await Enterprise.with(.init()) { enterprise in
            enterprise.turnGateway(to: 0)
            let server = try AppServer(of: enterprise)
            let token = try await enterprise.app.authTokens.token(challenge: "c1", serverName: Enterprise.server)
            let text = token.text.reveal()
            try server.turn(toIssueOf: text)
            #expect(await server.verdicts(of: text) == .init())
            try await withdrawal.perform(in: enterprise)
            #expect(await server.verdicts(of: text) == .init(online: withdrawal.verdict))
            // Five minutes, and the verifier's leeway of half of one.
            server.turn(to: token.expires + 29)
            #expect(await server.verdicts(of: text) == .init(online: withdrawal.verdict))
            server.turn(to: token.expires + 30)
            #expect(await server.verdicts(of: text) == .init(online: withdrawal.verdict, offline: .expired))
            // The gateway's own clock has no leeway.
            enterprise.turnGateway(to: 301)
            #expect(await server.verdicts(of: text) == .init(online: .expired, offline: .expired))
        }
    }
}
