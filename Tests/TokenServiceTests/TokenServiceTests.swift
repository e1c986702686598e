import Crypto
import Foundation
import HTTPTypes
import Sallyport
import SallyportAuthToken
import SallyportBase
import SallyportWire
import Testing

@testable import SallyportGateway

/// The sequences of Docs/AuthTokens.md, with a running gateway, app and service: each refusal has its code.
@Suite(.timeLimit(.minutes(2))) struct TokenServiceTests {
    static let ways = [Enterprise.Wish(isOnline: false), Enterprise.Wish(isOnline: true)]

    @Test(arguments: ways) func aTokenOpensTheRouteOnceForItsUser(_ wish: Enterprise.Wish) async throws {
        try await Enterprise.with(wish) { enterprise in
            enterprise.turnGateway(to: 0)
            let token = try await enterprise.token().text.reveal()
            let answer = try await enterprise.get(token)
            #expect(answer.status == 200 && answer.text.contains(Enterprise.user))
            // The challenge was used, by this token and by any other with it.
            let again = try await enterprise.get(token)
            #expect(again.status == 401 && again.verdict == "replayed")
            let next = try await enterprise.app.authTokens.token(
                challenge: try #require(again.challenge), serverName: Enterprise.server)
            #expect(try await enterprise.get(next.text.reveal()).status == 200)
        }
    }

    @Test(arguments: ways) func theTokenMustMatchTheAppsClaims(_ wish: Enterprise.Wish) async throws {
        try await Enterprise.with(wish) { enterprise in
            enterprise.turnGateway(to: 0)
            let token = try await enterprise.token().text.reveal()
            #expect(try await enterprise.get(token, user: "bob@corp.example").verdict == "wrongUser")
            let elsewhere = try await enterprise.token(server: "mail.corp.example").text.reveal()
            #expect(try await enterprise.get(elsewhere).verdict == "wrongServer")
            let own = try await enterprise.app.authTokens.token(challenge: "mine", serverName: Enterprise.server)
            #expect(try await enterprise.get(own.text.reveal()).verdict == "wrongChallenge")
            // None of these cost the right token its challenge.
            #expect(try await enterprise.get(token).status == 200)
        }
    }

    @Test(arguments: ways) func theTimeOfATokenCounts(_ wish: Enterprise.Wish) async throws {
        try await Enterprise.with(wish) { enterprise in
            // Issued an hour ago.
            let old = try await enterprise.token().text.reveal()
            enterprise.turnGateway(to: 600)
            let future = try await enterprise.token().text.reveal()
            enterprise.turnGateway(to: 0)
            let (late, early) = (try await enterprise.get(old), try await enterprise.get(future))
            #expect(late.verdict == "expired" && early.verdict == "notYetValid", "\(late) \(early)")
        }
    }

    /// On-line at once; off-line when the token is over, which is within five minutes.
    @Test(arguments: ways) func aWithdrawnInstanceIsRefused(_ wish: Enterprise.Wish) async throws {
        try await Enterprise.with(wish) { enterprise in
            enterprise.turnGateway(to: 0)
            let tokens = try await [enterprise.token().text.reveal(), enterprise.token().text.reveal()]
            try await enterprise.withdraw(.lock)
            let answer = try await enterprise.get(tokens[0])
            if wish.isOnline { #expect(answer.verdict == "withdrawn") } else { #expect(answer.status == 200) }
            // No new one in any case.
            await #expect(throws: AuthTokenError(.withdrawn, "")) { try await enterprise.token() }
            try await enterprise.withdraw(.unlock)
            #expect(try await enterprise.get(tokens[1]).status == 200)
        }
    }

    @Test(arguments: ways) func aRemovedUserIsRefused(_ wish: Enterprise.Wish) async throws {
        try await Enterprise.with(wish) { enterprise in
            enterprise.turnGateway(to: 0)
            let token = try await enterprise.token().text.reveal()
            try await enterprise.admin(.removeUser(Enterprise.user, confirmed: true))
            let answer = try await enterprise.get(token)
            if wish.isOnline { #expect(answer.verdict == "userRemoved") } else { #expect(answer.status == 200) }
            await #expect(throws: AuthTokenError(.withdrawn, "")) { try await enterprise.token() }
        }
    }

    @Test(arguments: ways) func otherKeysAndAlgorithmsAreMalformed(_ wish: Enterprise.Wish) async throws {
        try await Enterprise.with(wish) { enterprise in
            enterprise.turnGateway(to: 0)
            let good = try await enterprise.token().text.reveal()
            let payload = good.split(separator: ".")[1]
            let keyID = try SignedAuthToken(Array(good.utf8)).keyID
            func headed(_ algorithm: String, _ signature: String) -> String {
                let header = #"{"alg":"\#(algorithm)","kid":"\#(keyID)","typ":"sallyport-token+jwt"}"#
                return "\(Base64URL.encode(Array(header.utf8))).\(payload).\(signature)"
            }
            // What signs configurations does not sign tokens.
            let signer = try await enterprise.data.signer.parsed().key
            for wrong in [
                try await enterprise.forged(by: .init()), try await enterprise.forged(by: .init(), keyID: "other"),
                try await enterprise.forged(by: signer), headed("none", ""),
                headed("none", String(good.split(separator: ".")[2])),
                headed("HS256", Base64URL.encode([UInt8](repeating: 7, count: 32))),
                headed("HS256", Base64URL.encode([UInt8](repeating: 7, count: 64))), "nonsense",
                String(repeating: "A", count: 8193),
            ] {
                let answer = try await enterprise.get(wrong)
                #expect(answer.status == 401 && answer.verdict == "malformed")
            }
            #expect(try await enterprise.get(good).status == 200)
        }
    }

    @Test func anotherGatewaysTokenIsRefusedOffline() async throws {
        try await Enterprise.with(.init()) { enterprise in
            enterprise.turnGateway(to: 0)
            let record = try #require(await enterprise.data.tokenKeys.signing(at: Date()))
            let key = try P256.Signing.PrivateKey(pemRepresentation: record.key)
            let other = try await enterprise.forged(by: key) { $0.issuer = "https://other.example:17433" }
            #expect(try await enterprise.get(other).verdict == "malformed")
            #expect(try await enterprise.get(enterprise.forged(by: key)).status == 200)
        }
    }

    @Test func anOldKeyAndANewOneCountSideBySide() async throws {
        try await Enterprise.with(.init()) { enterprise in
            // The first key is thirty days old: the next one is published now, and signs in an hour, which is now.
            enterprise.turnGateway(to: -3600)
            try await enterprise.data.renewTokenKeys()
            #expect(await enterprise.data.tokenKeys.records.count == 2)
            enterprise.turnGateway(to: -200)
            let old = try await enterprise.token().text.reveal()
            enterprise.turnGateway(to: 5)
            let new = try await enterprise.token().text.reveal()
            #expect(try SignedAuthToken(Array(old.utf8)).keyID != SignedAuthToken(Array(new.utf8)).keyID)
            for token in [old, new] { #expect(try await enterprise.get(token).status == 200) }
        }
    }

    @Test(arguments: ways) func aSessionLastsUntilItIsEnded(_ wish: Enterprise.Wish) async throws {
        var wish = wish
        wish.use = .session
        try await Enterprise.with(wish) { enterprise in
            enterprise.turnGateway(to: 0)
            let token = try await enterprise.token().text.reveal()
            for _ in 0..<3 { #expect(try await enterprise.get(token).status == 200) }
            #expect(try await enterprise.get(token, path: "/logout", method: .post).status == 200)
            let after = try await enterprise.get(token)
            #expect(after.status == 401 && after.verdict == "wrongChallenge" && after.challenge != nil)
        }
    }

    @Test(arguments: ways) func ifProofsAreRequiredATokenAloneIsRefused(_ wish: Enterprise.Wish) async throws {
        var wish = wish
        (wish.requiresProof, wish.use) = (true, .session)
        try await Enterprise.with(wish) { enterprise in
            enterprise.turnGateway(to: 0)
            let url = "https://\(Enterprise.server)/reports"
            let bearer = try await enterprise.token().text.reveal()
            #expect(try await enterprise.get(bearer).verdict == "noProof")
            let token = try await enterprise.token(isBound: true)
            let text = token.text.reveal()
            #expect(try await enterprise.get(text).verdict == "noProof")
            let proof = try await enterprise.app.authTokens.proof(method: "GET", url: url, token: token).reveal()
            #expect(try await enterprise.get(text, proof: proof).status == 200)
            #expect(try await enterprise.get(text, proof: proof).verdict == "replayed")
            let elsewhere = try await enterprise.app.authTokens.proof(
                method: "GET", url: "https://\(Enterprise.server)/other", token: token
            ).reveal()
            #expect(try await enterprise.get(text, proof: elsewhere).verdict == "noProof")
            let next = try await enterprise.app.authTokens.proof(method: "GET", url: url, token: token).reveal()
            #expect(try await enterprise.get(text, proof: next).status == 200)
        }
    }
}
