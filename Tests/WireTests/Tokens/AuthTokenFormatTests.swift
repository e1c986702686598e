import Crypto
import SallyportWire
import Testing

@Suite("Auth tokens") struct AuthTokenFormatTests {
    private let key = P256.Signing.PrivateKey()

    static func claims() throws -> AuthTokenClaims {
        AuthTokenClaims(
            issuer: "https://gateway.example:17433", user: "ånn@example", server: "app.example", challenge: "Abc123",
            issuedAt: 1_700_000_000, expires: 1_700_000_300, identifier: "j1",
            entitlement: try #require(EntitlementIdentifier("com.example.report")), instance: InstanceIdentifier(),
            keyThumbprint: KeyTests.thumbprint)
    }

    @Test("What is signed comes back, with every claim and without those that may miss") func roundTrip() throws {
        var claims = try Self.claims()
        claims.notBefore = 1_700_000_010
        var bare = try Self.claims()
        (bare.server, bare.challenge, bare.keyThumbprint) = ("", "", nil)
        for claims in [claims, bare] {
            let text = Array(try SignedAuthToken.sign(claims, with: key, keyID: "k").utf8)
            let token = try SignedAuthToken(text)
            #expect(try token.keyID == "k" && token.claims(signedWith: key.publicKey) == claims)
            let other = P256.Signing.PrivateKey().publicKey
            #expect(throws: WireError(.signature, "")) { try token.claims(signedWith: other) }
        }
        #expect(claims.begins == 1_700_000_010 && bare.begins == 1_700_000_000)
        let text = String(decoding: try bare.serialized(), as: UTF8.self)
        #expect(!text.contains("aud") && !text.contains("cnf") && text.contains(#""nonce":"""#))
    }

    /// A document of the same key for another purpose is no token (RFC 8725 §3.11).
    @Test("Another type, no kid, another algorithm and `none` are refused") func headers() throws {
        let claims = try Self.claims().serialized()
        let typed = Array(try JWS.sign(claims, header: .init(type: "sallyport-config", keyID: "k"), with: key).utf8)
        #expect(throws: WireError(.unsupported, "")) { try SignedAuthToken(typed) }
        let unnamed = Array(try JWS.sign(claims, header: .init(type: AuthTokenClaims.type), with: key).utf8)
        #expect(throws: WireError(.malformed, "")) { try SignedAuthToken(unnamed) }
        for header in [
            #"{"alg":"none","kid":"k","typ":"sallyport-token+jwt"}"#,
            #"{"alg":"HS256","kid":"k","typ":"sallyport-token+jwt"}"#,
        ] {
            for signature in ["", Base64URL.encode([UInt8](repeating: 1, count: 64))] {
                let text = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(claims)).\(signature)"
                #expect(throws: WireError.self) { try SignedAuthToken(Array(text.utf8)) }
            }
        }
    }

    @Test("Claims outside of their range are refused") func ranges() throws {
        let changes: [(inout AuthTokenClaims) -> Void] = [
            { $0.user = "" }, { $0.user = "a:b" }, { $0.user = String(repeating: "a", count: 255) },
            { $0.challenge = "a-b" }, { $0.challenge = String(repeating: "a", count: 257) },
            { $0.server = "a b" }, { $0.server = "é" }, { $0.server = String(repeating: "a", count: 256) },
            { $0.expires = $0.issuedAt }, { $0.issuedAt = 0 }, { $0.expires = 1 << 53 + 1 },
            { $0.identifier = "" }, { $0.keyThumbprint = "short" },
            { $0.keyThumbprint = String(repeating: "=", count: 43) },
        ]
        for change in changes {
            var claims = try Self.claims()
            change(&claims)
            let bytes = try claims.serialized()
            #expect(throws: WireError.self) { try AuthTokenClaims(parsing: bytes) }
        }
    }

    @Test("A claim that misses, stands twice, or has another form is refused") func forms() throws {
        let text = String(decoding: try Self.claims().serialized(), as: UTF8.self)
        for name in ["iss", "sub", "nonce", "iat", "exp", "jti", "client_id", "sid"] {
            let missing = Array(text.replacing("\"\(name)\":", with: "\"x-\(name)\":").utf8)
            #expect(throws: WireError.self, "\(name)") { try AuthTokenClaims(parsing: missing) }
            let twice = Array(text.replacing("{\"aud\"", with: "{\"\(name)\":\"\",\"aud\"").utf8)
            #expect(throws: WireError(.malformed, ""), "\(name)") { try AuthTokenClaims(parsing: twice) }
        }
        for (one, other) in [
            (#""aud":"app.example""#, #""aud":["app.example"]"#), (#""aud":"app.example""#, #""aud":"""#),
            (#""iat":1700000000"#, #""iat":"1700000000""#), (#""iat":1700000000"#, #""iat":1700000000.5"#),
            (#""cnf":{"#, #""cnf":{"x5t#S256":"a","#), (#""cnf":{"jkt""#, #""cnf":{"kid""#),
        ] {
            let changed = text.replacing(one, with: other)
            try #require(changed != text)
            #expect(throws: WireError.self, "\(other)") { try AuthTokenClaims(parsing: Array(changed.utf8)) }
        }
    }

    @Test("A token of one byte more than 8 KiB is not looked at") func limit() throws {
        let signed = try SignedAuthToken.sign(Self.claims(), with: key, keyID: "k")
        let text = Array(signed.utf8) + [UInt8](repeating: 65, count: AuthTokenClaims.maximumLength - signed.utf8.count)
        #expect(throws: WireError(.malformed, "")) { try SignedAuthToken(text) }
        #expect(throws: WireError(.tooLarge, "")) { try SignedAuthToken(text + [65]) }
    }

    @Test("A header of more than 2 KiB is not looked at") func header() throws {
        for (length, isTaken) in [(1400, true), (1600, false)] {
            let header = JWS.Header(
                type: AuthTokenClaims.type, keyID: "k", certificates: [[UInt8](repeating: 1, count: length)])
            let text = Array(try JWS.sign(Self.claims().serialized(), header: header, with: key).utf8)
            try #require(text.count < AuthTokenClaims.maximumLength)
            if isTaken {
                _ = try SignedAuthToken(text)
            } else {
                #expect(throws: WireError(.tooLarge, "")) { try SignedAuthToken(text) }
            }
        }
    }

    @Test("Challenges are ASCII letters and digits, server names visible ASCII") func rules() {
        for text in ["", "aZ09", String(repeating: "a", count: 256)] { #expect(AuthTokenClaims.isChallenge(text)) }
        for text in [" ", "a-", "é", "٣", String(repeating: "a", count: 257)] {
            #expect(!AuthTokenClaims.isChallenge(text))
        }
        for text in ["", "app.example:8443", "!~"] { #expect(AuthTokenClaims.isServerName(text)) }
        for text in ["a b", "é", "\u{7f}", "a\n"] { #expect(!AuthTokenClaims.isServerName(text)) }
    }

    @Test("The number of an answer's code counts, not its text") func codes() {
        for verdict in AuthTokenAPI.Verdict.allCases {
            #expect(AuthTokenAPI.Verdict(fieldValue: verdict.text) == verdict)
            #expect(verdict.text.hasPrefix("\(verdict.rawValue) "))
        }
        for text in ["", "OK", "1000 OK", "100OK", "-100 OK"] { #expect(AuthTokenAPI.Verdict(fieldValue: text) == nil) }
    }
}
