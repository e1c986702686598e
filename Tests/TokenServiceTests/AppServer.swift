import Crypto
import SallyportAuthTokenVerification
import SallyportBase
import SallyportCore
import SallyportWire

@testable import TokenService

/// An app server's verifiers, both ways, over a gateway that runs; their clock is the test's.
struct AppServer: Sendable {
    /// The published keys as the gateway gives them, and how often it was asked.
    private struct Keys: AuthTokenKeySource {
        let gateway: GatewayClient
        let fetches = Lock(0)

        func fetchKeys() async throws -> [UInt8] {
            fetches.withLock { $0 += 1 }
            return try await gateway.fetchKeys()
        }
    }

    /// What each way says of a token; nil where it accepts it.
    struct Verdicts: Equatable {
        var online: AuthTokenVerificationError.Code?
        var offline: AuthTokenVerificationError.Code?
    }

    private let online: AuthTokenVerifier
    private let offline: AuthTokenVerifier
    private let keys: Keys
    private let now = Lock<Int64>(0)

    init(of enterprise: Enterprise) throws {
        let gateway = try GatewayClient(
            host: enterprise.gateway.host.bareText, port: Int(enterprise.gateway.port),
            authorityFile: enterprise.authorityFile)
        let keys = Keys(gateway: gateway)
        let clock: @Sendable () -> Int64 = { [now] in now.withLock { $0 } }
        self.keys = keys
        online = AuthTokenVerifier(service: gateway, clock: clock)
        offline = AuthTokenVerifier(
            keys: PublishedKeys(from: keys, clock: clock), issuer: "https://\(enterprise.gateway)")
    }

    var fetches: Int { keys.fetches.withLock { $0 } }

    /// Unix seconds.
    func turn(to time: Int64) { now.withLock { $0 = time } }

    /// Turns the clock to when a token was issued, and some seconds on.
    func turn(toIssueOf token: String, plus seconds: Int64 = 0) throws {
        turn(to: try SignedAuthToken(Array(token.utf8)).claimsVouchedFor().issuedAt + seconds)
    }

    func verdicts(of token: String) async -> Verdicts {
        Verdicts(online: await verdict(of: token, by: online), offline: await verdictOffline(of: token))
    }

    func verdictOffline(of token: String) async -> AuthTokenVerificationError.Code? {
        await verdict(of: token, by: offline)
    }

    private func verdict(
        of token: String, by verifier: AuthTokenVerifier
    ) async -> AuthTokenVerificationError.Code? {
        do throws(AuthTokenVerificationError) {
            _ = try await verifier.verify(token, for: .init(user: Enterprise.user, server: Enterprise.server))
            return nil
        } catch { return error.code }
    }
}
