import Crypto
import SallyportWire
import Testing

/// The examples of RFC 9449 and RFC 7517, and what may not pass for a key.
@Suite("Keys as JSON") struct KeyTests {
    /// RFC 9449, figures 4 and 9.
    static let x = "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs"
    static let y = "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"
    static let thumbprint = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"

    private func key(_ text: String) throws(WireError) -> JWK { try JWK(JOSEObject(parsing: Array(text.utf8))) }

    @Test("The thumbprint is that of the RFC, whatever the order and the other members (RFC 7638)") func thumbprint()
        throws
    {
        let key = try key(#"{"y":"\#(Self.y)","kid":"1","x":"\#(Self.x)","use":"sig","crv":"P-256","kty":"EC"}"#)
        #expect(key.thumbprint == Self.thumbprint && key.keyID == "1")
        #expect(try JWK(key.publicKey()).thumbprint == Self.thumbprint)
    }

    @Test(
        "Other kinds of keys are not supported",
        arguments: [(#""RSA""#, #""P-256""#), (#""EC""#, #""P-384""#), (#""OKP""#, #""Ed25519""#)])
    func kinds(kty: String, crv: String) {
        #expect(throws: WireError(.unsupported, "")) {
            try key(#"{"kty":\#(kty),"crv":\#(crv),"x":"\#(Self.x)","y":"\#(Self.y)"}"#)
        }
    }

    @Test("A private key, a point that is not on the curve, and halves of one are refused") func malformed() {
        let short = String(Self.x.dropLast(4))
        for members in [
            #""x":"\#(Self.x)","y":"\#(Self.y)","d":"\#(Self.x)""#, #""x":"\#(Self.x)","y":"\#(Self.x)""#,
            #""x":"\#(Self.x)""#, #""x":"\#(short)","y":"\#(Self.y)""#, #""x":"\#(Self.x)=","y":"\#(Self.y)""#,
            #""x":1,"y":2"#,
        ] {
            #expect(throws: WireError(.malformed, "")) { try key(#"{"kty":"EC","crv":"P-256",\#(members)}"#) }
        }
    }

    // MARK: Sets

    /// RFC 7517 §A.1: one key of P-256 for encryption, and one of RSA.
    private static let published = """
        {"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",\
        "y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"enc","kid":"1"},\
        {"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJ\
        ECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaS\
        qzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBn\
        iIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}]}
        """

    private func set(_ text: String) throws(WireError) -> JWKSet { try JWKSet(parsing: Array(text.utf8)) }

    @Test("Keys for another use, of another kind and without a name are passed over") func others() throws {
        #expect(try set(Self.published).keys.isEmpty)
        #expect(try set(Self.published.replacing(#""use":"enc","#, with: "")).keys.map(\.keyID) == ["1"])
        let point = #""kty":"EC","crv":"P-256","x":"\#(Self.x)","y":"\#(Self.y)""#
        #expect(try set(#"{"keys":[{\#(point)},{\#(point),"kid":"a","alg":"ES384"}]}"#).keys.isEmpty)
    }

    @Test("What is printed is read as the same") func roundTrip() throws {
        let keys = JWKSet((0..<3).map { JWK(P256.Signing.PrivateKey().publicKey, keyID: "k\($0)") })
        #expect(try JWKSet(parsing: keys.serialized()) == keys)
    }

    @Test("Of two keys with one name neither is believed") func names() throws {
        let keys = JWKSet((0..<2).map { _ in JWK(P256.Signing.PrivateKey().publicKey, keyID: "k") })
        #expect(throws: WireError(.malformed, "")) { try JWKSet(parsing: keys.serialized()) }
    }

    @Test("No set, and one key or byte too many, are refused") func limits() throws {
        for text in ["{}", #"{"keys":{}}"#, #"{"keys":[1]}"#, "[]", ""] {
            #expect(throws: WireError(.malformed, "")) { try set(text) }
        }
        func keys(_ count: Int) throws -> [UInt8] {
            try JWKSet((0..<count).map { JWK(P256.Signing.PrivateKey().publicKey, keyID: "k\($0)") }).serialized()
        }
        #expect(try JWKSet(parsing: keys(JWKSet.Limits.keys)).keys.count == JWKSet.Limits.keys)
        let tooMany = try keys(JWKSet.Limits.keys + 1)
        #expect(throws: WireError(.tooLarge, "")) { try JWKSet(parsing: tooMany) }
        let padding = String(repeating: " ", count: JWKSet.Limits.document - Self.published.utf8.count)
        _ = try set(Self.published + padding)
        #expect(throws: WireError(.tooLarge, "")) { try set(Self.published + padding + " ") }
    }
}
