import Crypto
import Foundation
import SallyportCore
import SallyportWire
import TestSupport
import Testing

@testable import SallyportGateway

/// The gateway's results for tokens, and the instances for which it issues none.
@Suite(.timeLimit(.minutes(1))) struct TokenServiceTests {
    /// The service over data whose clock the test moves, and an instance.
    struct TokenIssuer {
        let fixture: DataFixture
        let instance: PresentedCertificate
        let service: TokenService

        init() async throws {
            fixture = try await DataFixture()
            try await fixture.data.renewTokenKeys()
            service = TokenService(current: await fixture.data.currentState())
            instance = try await fixture.enroll(fixture.link(), DataFixture.request())
        }

        func token(
            _ challenge: String = "c1", _ server: String = "app.example", jkt: String? = nil
        ) async throws -> String {
            let record = try await fixture.data.admitted(instance)
            let request = AuthTokenAPI.Request(challenge: challenge, server: server, jkt: jkt)
            return try service.issue(request, to: record, by: await fixture.data.settings).token
        }

        func withdraw(_ withdrawal: AdministrationCommand.Withdrawal) async throws {
            try await fixture.perform(.withdraw(instance: instance.name.instance.description, withdrawal))
        }

        /// Signed with the gateway's own key, with claims that the gateway would not write.
        func forged(_ change: (inout AuthTokenClaims) -> Void) async throws -> String {
            let token = try await token()
            var claims = try #require(service.verify(token).claims)
            change(&claims)
            let key = try service.current.value.tokenKeys.signing(at: await fixture.data.clock())
            return try SignedAuthToken.sign(claims, with: key.privateKey, keyID: key.record.id)
        }
    }

    /// An observer gets the data as an argument and need not keep it: a reference from the data's observers to the data
    /// would be a cycle.
    @Test func theDataIsLetGoOfThoughItIsObserved() async throws {
        weak var data: GatewayData?
        do {
            let issuer = try await TokenIssuer()
            data = issuer.fixture.data
            #expect(data != nil)
        }
        #expect(try await eventually { data == nil })
    }

    @Test func aTokenNamesItsUserAndItsServer() async throws {
        let issuer = try await TokenIssuer()
        let thumbprint = JWK(P256.Signing.PrivateKey().publicKey).thumbprint
        let (verdict, claims) = issuer.service.verify(try await issuer.token(jkt: thumbprint))
        #expect(verdict == .valid && verdict.text == "100 OK")
        let found = try #require(claims)
        #expect(found.issuer == "https://localhost:17433" && found.user == "ann" && found.server == "app.example")
        #expect(found.challenge == "c1" && found.expires == found.issuedAt + 300)
        #expect(
            found.entitlement == issuer.instance.name.entitlement && found.instance == issuer.instance.name.instance)
        #expect(found.keyThumbprint == thumbprint)
        let bare = try #require(issuer.service.verify(try await issuer.token("", "")).claims)
        #expect(bare.challenge.isEmpty && bare.server.isEmpty && bare.keyThumbprint == nil)
        #expect(bare.identifier != found.identifier)
    }

    @Test func lookingDoesNotUseATokenUp() async throws {
        let issuer = try await TokenIssuer()
        let token = try await issuer.token()
        for _ in 0..<3 { #expect(issuer.service.verify(token).verdict == .valid) }
    }

    @Test func aTokenIsOverAfterFiveMinutes() async throws {
        let issuer = try await TokenIssuer()
        let token = try await issuer.forged {
            $0.issuedAt -= 1; $0.expires = $0.issuedAt + 300
        }
        issuer.fixture.advance(297)
        #expect(issuer.service.verify(token).verdict == .valid)
        issuer.fixture.advance(2)
        #expect(issuer.service.verify(token).verdict == .expired)
    }

    @Test func aTokenOfTheFutureIsNotYetValid() async throws {
        let issuer = try await TokenIssuer()
        #expect(try await issuer.service.verify(issuer.forged { $0.issuedAt += 60 }).verdict == .notYetValid)
        #expect(
            try await issuer.service.verify(issuer.forged { $0.notBefore = $0.issuedAt + 60 }).verdict == .notYetValid)
    }

    /// The clock of the gateway that issued it may be ahead.
    @Test func aTokenMayBeginHalfAMinuteAhead() async throws {
        let issuer = try await TokenIssuer()
        for (ahead, verdict) in [(30, .valid), (31, .notYetValid)] as [(Int64, AuthTokenAPI.Verdict)] {
            #expect(try await issuer.service.verify(issuer.forged { $0.issuedAt += ahead }).verdict == verdict)
            let later = try await issuer.forged { $0.notBefore = $0.issuedAt + ahead }
            #expect(issuer.service.verify(later).verdict == verdict)
        }
    }

    @Test(arguments: [AdministrationCommand.Withdrawal.block, .lock, .wipe])
    func aWithdrawnInstanceIsRefusedAtOnce(_ withdrawal: AdministrationCommand.Withdrawal) async throws {
        let issuer = try await TokenIssuer()
        let token = try await issuer.token()
        try await issuer.withdraw(withdrawal)
        #expect(issuer.service.verify(token).verdict == .withdrawn)
        await #expect(throws: GatewayError(.forbidden, "")) { try await issuer.token() }
    }

    @Test func liftedWithdrawalsMakeTokensValidAgain() async throws {
        let issuer = try await TokenIssuer()
        let token = try await issuer.token()
        try await issuer.withdraw(.block)
        try await issuer.withdraw(.unblock)
        #expect(issuer.service.verify(token).verdict == .valid)
    }

    @Test func aRemovedUserIsToldApartFromAWithdrawnInstance() async throws {
        let issuer = try await TokenIssuer()
        let token = try await issuer.token()
        try await issuer.fixture.perform(
            .unentitle(user: "ann", entitlement: "com.example.report", version: "1.0.0.0", confirmed: true))
        #expect(issuer.service.verify(token).verdict == .withdrawn)
        try await issuer.fixture.perform(.removeUser("ann", confirmed: true))
        #expect(issuer.service.verify(token).verdict == .userRemoved)
        await #expect(throws: GatewayError(.forbidden, "")) { try await issuer.token() }
    }

    /// Another gateway has made the instance a moment ago.
    @Test func aTokenOfAnInstanceThatIsNotKnownHereIsJudgedOnceTheFleetWasFollowed() async throws {
        let fixture = try await DataFixture()
        try await fixture.data.renewTokenKeys()
        let (store, data) = try await fixture.faulty()
        let (here, there) = (
            TokenService(current: await data.currentState()),
            TokenService(current: await fixture.data.currentState())
        )
        let instance = try await fixture.enroll(fixture.link(), DataFixture.request())
        let request = AuthTokenAPI.Request(challenge: "c1", server: "app.example", jkt: nil)
        let record = try await fixture.data.admitted(instance)
        let token = try there.issue(request, to: record, by: await fixture.data.settings).token
        #expect(here.verify(token).verdict == .withdrawn)
        store.set(.fails)
        await #expect(throws: GatewayError(.unreachable, "")) { _ = try await here.judge(token) }
        store.set(nil)
        #expect(try await here.judge(token).verdict == .valid)
        // What is known here is judged without the fleet.
        store.set(.fails)
        #expect(try await here.judge(token).verdict == .valid)
        store.set(nil)
        try await fixture.perform(.withdraw(instance: instance.name.instance.description, .block))
        try await data.catchUp()
        store.set(.fails)
        #expect(try await here.judge(token).verdict == .withdrawn)
        withExtendedLifetime(data) {}
    }

    /// Another instance, app or user than the record's, even under a true signature.
    @Test func aTokenThatDoesNotMatchItsInstanceIsRefused() async throws {
        let issuer = try await TokenIssuer()
        try await issuer.fixture.perform(.addUser("bob"))
        #expect(
            try await issuer.service.verify(issuer.forged { $0.instance = InstanceIdentifier() }).verdict == .withdrawn)
        #expect(try await issuer.service.verify(issuer.forged { $0.user = "bob" }).verdict == .withdrawn)
        let other = try #require(EntitlementIdentifier("com.example.other"))
        #expect(try await issuer.service.verify(issuer.forged { $0.entitlement = other }).verdict == .withdrawn)
    }

    @Test func foreignTokensAllGetTheSameAnswer() async throws {
        let issuer = try await TokenIssuer()
        let token = try await issuer.token()
        let claims = try #require(issuer.service.verify(token).claims)
        let own = try issuer.service.current.value.tokenKeys.signing(at: await issuer.fixture.data.clock())
        let foreign = P256.Signing.PrivateKey()
        let payload = Base64URL.encode(try claims.serialized())
        let none = Base64URL.encode(
            Array(#"{"alg":"none","kid":"\#(own.record.id)","typ":"sallyport-token+jwt"}"#.utf8))
        let signer = try await issuer.fixture.data.signer.parsed()
        for wrong in [
            "", "x", "..", token + "A", String(token.dropLast(2)), String(repeating: "A", count: 8193),
            try SignedAuthToken.sign(claims, with: foreign, keyID: own.record.id),
            try SignedAuthToken.sign(claims, with: own.privateKey, keyID: "unknown"),
            try SignedAuthToken.sign(claims, with: signer.key, keyID: own.record.id),
            try JWS.sign(claims.serialized(), header: .init(type: "JWT", keyID: own.record.id), with: own.privateKey),
            "\(none).\(payload).", "\(none).\(payload).\(token.split(separator: ".")[2])",
        ] {
            let (verdict, claims) = issuer.service.verify(wrong)
            #expect(verdict == .malformed && claims == nil)
        }
    }

    @Test(
        arguments: [
            ("a-b", "", nil), ("", "a b", nil), ("", "", "x"), (String(repeating: "a", count: 257), "", nil),
            ("", String(repeating: "a", count: 256), nil),
        ] as [(String, String, String?)])
    func invalidClaimsAreRefused(_ challenge: String, _ server: String, _ jkt: String?) async throws {
        let issuer = try await TokenIssuer()
        await #expect(throws: GatewayError(.invalid, "")) { try await issuer.token(challenge, server, jkt: jkt) }
    }
}
