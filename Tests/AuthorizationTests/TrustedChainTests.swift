import SallyportAuthorization
import SallyportCore
import TestSupport
import Testing

/// What the app trusts for good, in the encrypted store.
@Suite struct TrustedChainTests {
    private let server: Endpoint
    private let other: Endpoint
    private let chains: [ChainFingerprint]

    init() throws {
        server = try Endpoint("app.example:443")
        other = try Endpoint("app.example:8443")
        chains = try (1...2).map { try #require(ChainFingerprint(sha256: [UInt8](repeating: $0, count: 32))) }
    }

    @Test func aDecisionIsOfOneServerAndOutlivesTheProcess() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        try await authorization.trust(chains[0], at: server)
        try await authorization.trust(chains[1], at: server)
        let later = try fixture.authorization(on: store)
        try await later.authorize()
        #expect(await later.trustedChain(at: server) == chains[1])
        #expect(await later.trustedChain(at: other) == nil)
        #expect(try await later.forgetTrust(at: server))
        #expect(try await !later.forgetTrust(at: server))
        #expect(await later.trustedChain(at: server) == nil)
    }

    @Test func nothingIsReadOrKeptWithoutAuthorization() async throws {
        let fixture = try Fixture()
        let (authorization, store) = try await fixture.activated()
        try await authorization.trust(chains[0], at: server)
        let closed = try fixture.authorization(on: store)
        #expect(await closed.trustedChain(at: server) == nil)
        await #expect(throws: LoadError.self) { try await closed.trust(chains[1], at: server) }
        await #expect(throws: LoadError.self) { try await closed.forgetTrust(at: server) }
        #expect(await authorization.trustedChain(at: server) == chains[0])
    }
}
