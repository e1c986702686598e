import Crypto
import HTTPTypes
import SallyportAuthTokenVerification
import SallyportBase
import SallyportWire
import Testing

/// Every verdict, off-line and on-line.
@Suite(.timeLimit(.minutes(1))) struct VerifierTests {
    @Test(arguments: [false, true]) func aGoodTokenNamesTheUser(isOnline: Bool) async throws {
        let issuer = Issuer()
        let verifier = isOnline ? issuer.onlineVerifier() : issuer.verifier()
        let text = try issuer.token()
        for _ in 0..<2 {
            let token = try await verifier.verify(text, for: .ann("c1"))
            #expect(token.user == "ann@example" && token.server == "app.example" && token.challenge == "c1")
            #expect(token.application == "com.example.report" && token.expires == Issuer.start + 300)
            #expect(!token.isProven)
        }
        #expect(issuer.fetches == (isOnline ? 0 : 1) && issuer.state.withLock { $0.asked } == (isOnline ? 2 : 0))
    }

    @Test func theTokensOfEachGatewayOfAFleetAreAcceptedAndNoOthers() async throws {
        let issuer = Issuer()
        let other = "https://other.example:17433"
        let verifier = AuthTokenVerifier(keys: issuer.keys(), issuers: [Issuer.name, other])
        _ = try await verifier.verify(issuer.token(), for: .ann("c1"))
        _ = try await verifier.verify(issuer.token { $0.issuer = other }, for: .ann("c1"))
        let stranger = try issuer.token { $0.issuer = "https://third.example:17433" }
        await #expect(throws: AuthTokenVerificationError.of(.malformed)) {
            try await verifier.verify(stranger, for: .ann("c1"))
        }
    }

    @Test(arguments: [false, true]) func theTokenMustMatchTheAppsClaims(isOnline: Bool) async throws {
        let issuer = Issuer()
        let verifier = isOnline ? issuer.onlineVerifier() : issuer.verifier()
        let text = try issuer.token()
        for (expected, code) in [
            (
                AuthTokenExpectation(user: "bob@example", server: "app.example"),
                AuthTokenVerificationError.Code.wrongUser
            ),
            (.init(user: "Ann@example", server: "app.example"), .wrongUser),
            (.init(user: "", server: "app.example"), .wrongUser),
            (.init(user: "ann@example", server: "other.example"), .wrongServer),
            (.init(user: "ann@example", server: ""), .wrongServer), (.ann("c2"), .wrongChallenge),
            (.ann(""), .wrongChallenge),
            (.ann("C1"), .wrongChallenge),
        ] {
            await #expect(throws: AuthTokenVerificationError.of(code)) {
                try await verifier.verify(text, for: expected)
            }
        }
        // A token for no server is for none.
        let unnamed = try issuer.token { $0.server = "" }
        await #expect(throws: AuthTokenVerificationError.of(.wrongServer)) {
            try await verifier.verify(unnamed, for: .ann())
        }
    }

    /// Two spellings of one character are two users.
    @Test func usersAreComparedByteByByte() async throws {
        let issuer = Issuer()
        let text = try issuer.token { $0.user = "e\u{301}" }
        let verifier = issuer.verifier()
        await #expect(throws: AuthTokenVerificationError.of(.wrongUser)) {
            try await verifier.verify(text, for: .init(user: "\u{e9}", server: "app.example"))
        }
        _ = try await verifier.verify(text, for: .init(user: "e\u{301}", server: "app.example"))
    }

    @Test func timeCountsWithTheLeeway() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier(leeway: 30)
        let text = try issuer.token()
        issuer.advance(329)
        _ = try await verifier.verify(text, for: .ann())
        issuer.advance(1)
        await #expect(throws: AuthTokenVerificationError.of(.expired)) { try await verifier.verify(text, for: .ann()) }
        let (near, far) = (try issuer.token { $0.issuedAt += 30 }, try issuer.token { $0.issuedAt += 31 })
        _ = try await verifier.verify(near, for: .ann())
        await #expect(throws: AuthTokenVerificationError.of(.notYetValid)) {
            try await verifier.verify(far, for: .ann())
        }
        let later = try issuer.token { $0.notBefore = $0.issuedAt + 31 }
        await #expect(throws: AuthTokenVerificationError.of(.notYetValid)) {
            try await verifier.verify(later, for: .ann())
        }
    }

    @Test func aLeewayIsADayAtMost() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier(leeway: .max)
        let text = try issuer.token()
        issuer.advance(300 + 86_399)
        _ = try await verifier.verify(text, for: .ann())
        issuer.advance(1)
        await #expect(throws: AuthTokenVerificationError.of(.expired)) { try await verifier.verify(text, for: .ann()) }
    }

    @Test func tokensOfOtherIssuersAreMalformed() async throws {
        let issuer = Issuer()
        let verifier = issuer.verifier()
        let good = try issuer.token()
        let claims = try issuer.claims()
        let key = try #require(issuer.state.withLock { $0.keys["k1"] })
        let payload = Base64URL.encode(try claims.serialized())
        func unsigned(_ algorithm: String) -> String {
            let header = #"{"alg":"\#(algorithm)","kid":"k1","typ":"sallyport-token+jwt"}"#
            return "\(Base64URL.encode(Array(header.utf8))).\(payload)"
        }
        // The published key as a secret of HMAC, which a careless verifier takes (RFC 8725 §3.1).
        let secret = SymmetricKey(data: key.publicKey.x963Representation)
        let mac = HMAC<SHA256>.authenticationCode(for: Array(unsigned("HS256").utf8), using: secret).map { $0 }
        for text in [
            "", "a.b.c", good + "x", String(good.dropFirst()), String(repeating: "A", count: 8193),
            try SignedAuthToken.sign(claims, with: .init(), keyID: "k1"),
            try issuer.token { $0.issuer = "https://other.example:17433" },
            try JWS.sign(claims.serialized(), header: .init(type: "sallyport-config", keyID: "k1"), with: key),
            unsigned("none") + ".", unsigned("none") + "." + good.split(separator: ".")[2],
            unsigned("HS256") + "." + Base64URL.encode(mac + mac),
            try JWS.sign(Array("{}".utf8), header: .init(type: AuthTokenClaims.type, keyID: "k1"), with: key),
        ] {
            await #expect(throws: AuthTokenVerificationError.of(.malformed)) {
                try await verifier.verify(text, for: .ann())
            }
        }
        #expect(AuthTokenVerificationError.Code.malformed.number == 400)
    }

    // MARK: On-line

    @Test(arguments: [
        (AuthTokenAPI.Verdict.malformed, AuthTokenVerificationError.Code.malformed), (.expired, .expired),
        (.notYetValid, .notYetValid), (.withdrawn, .withdrawn), (.userRemoved, .userRemoved),
    ])
    func theServicesVerdictIsTold(_ verdict: AuthTokenAPI.Verdict, _ code: AuthTokenVerificationError.Code) async throws
    {
        let issuer = Issuer()
        let text = try issuer.token()
        issuer.state.withLock { $0.verdict = verdict }
        await #expect(throws: AuthTokenVerificationError.of(code)) {
            try await issuer.onlineVerifier().verify(text, for: .ann())
        }
        #expect(code.number == verdict.rawValue)
    }

    /// What stands between server and service may answer anything, and a service may be asked by mistake about another.
    @Test func resultsForOtherTokensAreRefused() async throws {
        let code = try Issuer.field(AuthTokenAPI.Field.code)
        let (user, server) = (try Issuer.field(AuthTokenAPI.Field.user), try Issuer.field(AuthTokenAPI.Field.server))
        let instance = try Issuer.field(AuthTokenAPI.Field.instance)
        let challenge = try Issuer.field(AuthTokenAPI.Field.challenge)
        let entitlement = try Issuer.field(AuthTokenAPI.Field.entitlement)
        let created = try Issuer.field(AuthTokenAPI.Field.created)
        let distortions: [@Sendable (inout HTTPResponse) -> Void] = [
            { $0.status = .movedPermanently }, { $0.status = .init(code: 201) }, { $0.headerFields = [:] },
            { $0.headerFields[code] = "OK" }, { $0.headerFields[code] = "1000 OK" },
            {
                $0.headerFields[code] = "100 OK, 400 Malformed"; $0.headerFields[user] = "bob"
            },
            { $0.headerFields[user] = "bob@example" }, { $0.headerFields[server] = "other.example" },
            { $0.headerFields[challenge] = nil }, { $0.headerFields[instance] = nil },
            { $0.headerFields[entitlement] = "com.example.other" }, { $0.headerFields[created] = "1" },
        ]
        for distortion in distortions {
            let issuer = Issuer()
            let text = try issuer.token()
            issuer.state.withLock { $0.distortion = distortion }
            await #expect(throws: AuthTokenVerificationError.of(.unavailable)) {
                try await issuer.onlineVerifier().verify(text, for: .ann())
            }
        }
        let issuer = Issuer()
        issuer.state.withLock { $0.isDown = true }
        let text = try issuer.token()
        await #expect(throws: AuthTokenVerificationError.of(.unavailable)) {
            try await issuer.onlineVerifier().verify(text, for: .ann())
        }
    }

    @Test func invalidTokensAreNotSent() async throws {
        let issuer = Issuer()
        await #expect(throws: AuthTokenVerificationError.of(.malformed)) {
            try await issuer.onlineVerifier().verify("x\r\nHost: y", for: .ann())
        }
        #expect(issuer.state.withLock { $0.asked } == 0)
    }

    @Test func errorsShowNoToken() async throws {
        let issuer = Issuer()
        let text = try issuer.token()
        do throws(AuthTokenVerificationError) {
            _ = try await issuer.verifier().verify(text, for: .init(user: "PLANTED", server: "app.example"))
        } catch {
            #expect(!"\(error)".contains("PLANTED") && !error.debugDescription.contains("ann"))
        }
    }
}
