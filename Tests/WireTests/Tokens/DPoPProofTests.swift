import Crypto
import SallyportCore
import SallyportWire
import Testing

/// Proofs of a key, by the examples of RFC 9449 and by their own.
@Suite("Proofs of a key") struct DPoPProofTests {
    private static let header = """
        eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJ\
        oRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19
        """
    /// Figure 2: a request for a token.
    private static let request = """
        \(header).eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rv\
        a2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37\
        xRZT3Lg
        """
    /// Figure 12: a request with a token.
    private static let protected = """
        \(header).eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9w\
        cm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbV\
        FFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA
        """

    @Test("The proofs of the RFC are read and verified") func published() throws {
        let first = try DPoPProof(Array(Self.request.utf8))
        #expect(first.identifier == "-BwC3ESc6acc2lTc" && first.method == "POST" && first.issuedAt == 1_562_262_616)
        #expect(first.target == "https://server.example.com/token" && first.tokenHash == nil)
        #expect(first.keyThumbprint == KeyTests.thumbprint)
        let second = try DPoPProof(Array(Self.protected.utf8))
        #expect(second.tokenHash == DPoPProof.hash(of: "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"))
        #expect(try second.isFor(RequestURL("https://resource.example.org/protectedresource?x=1#f")))
    }

    @Test("A byte of it changed, and it is none") func changed() throws {
        for place in stride(from: 0, to: Self.protected.utf8.count, by: 7) {
            var bytes = Array(Self.protected.utf8)
            bytes[place] = bytes[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: WireError.self) { try DPoPProof(bytes) }
        }
    }

    @Test("What is made is for its method, URL, token and key") func made() throws {
        let key = P256.Signing.PrivateKey()
        let url = try RequestURL("HTTPS://App.Example:443/a/../b?q=1")
        let text = try DPoPProof.make(
            for: "PUT", at: url, with: "t", identifier: "j", issuedAt: 7, signedWith: key)
        let proof = try DPoPProof(Array(text.utf8))
        #expect(proof.method == "PUT" && proof.target == "https://app.example/b" && proof.issuedAt == 7)
        #expect(proof.tokenHash == DPoPProof.hash(of: "t") && proof.keyThumbprint == JWK(key.publicKey).thumbprint)
        for same in ["https://app.example/b", "https://APP.example.:443/b?other"] {
            #expect(try proof.isFor(RequestURL(same)))
        }
        for other in [
            "http://app.example/b", "https://app.example:444/b", "https://app.example/b/", "https://b.example/b",
        ] {
            #expect(try !proof.isFor(RequestURL(other)))
        }
    }

    /// RFC 9449 §4.2: a proof names its URL without query and fragment.
    @Test("A proof for a URL with a query or a fragment, or for none, is for nothing") func targets() throws {
        let key = P256.Signing.PrivateKey()
        let header = JWS.Header(type: DPoPProof.type, key: JWK(key.publicKey))
        for (target, isFor) in [
            ("https://a/x", true), ("https://a/x?", false), ("https://a/x?q=1", false), ("https://a/x#f", false),
            ("/x", false), ("", false), ("https://u@a/x", false), ("ftp://a/x", false),
        ] {
            let claims = Array(#"{"htm":"GET","htu":"\#(target)","iat":1,"jti":"j"}"#.utf8)
            let proof = try DPoPProof(Array(JWS.sign(claims, header: header, with: key).utf8))
            #expect(try proof.isFor(RequestURL("https://a/x")) == isFor, "\(target)")
        }
    }

    /// The key in a header proves nothing but itself; in any other document it is not even read.
    @Test("A proof has a public key in its header; other documents' keys are ignored") func keys() throws {
        let key = P256.Signing.PrivateKey()
        let claims = Array(#"{"htm":"GET","htu":"https://a/","iat":1,"jti":"j"}"#.utf8)
        let bare = Array(try JWS.sign(claims, header: .init(type: DPoPProof.type), with: key).utf8)
        #expect(throws: WireError(.malformed, "")) { try DPoPProof(bare) }
        let foreign = JWK(P256.Signing.PrivateKey().publicKey)
        let stolen = Array(try JWS.sign(claims, header: .init(type: DPoPProof.type, key: foreign), with: key).utf8)
        #expect(throws: WireError(.signature, "")) { try DPoPProof(stolen) }
        let token = try JWS(
            Array(JWS.sign(claims, header: .init(type: "t", key: JWK(key.publicKey)), with: key).utf8), type: "t")
        #expect(token.header.key == nil)
    }

    @Test("Missing members, other types and long proofs are refused") func refused() throws {
        let key = P256.Signing.PrivateKey()
        let header = JWS.Header(type: DPoPProof.type, key: JWK(key.publicKey))
        for claims in [
            #"{"htu":"https://a/","iat":1,"jti":"j"}"#, #"{"htm":"GET","iat":1,"jti":"j"}"#,
            #"{"htm":"GET","htu":"https://a/","jti":"j"}"#, #"{"htm":"GET","htu":"https://a/","iat":1}"#,
            #"{"htm":"GET","htu":"https://a/","iat":1,"jti":""}"#, "{}", "[]",
        ] {
            let text = Array(try JWS.sign(Array(claims.utf8), header: header, with: key).utf8)
            #expect(throws: WireError(.malformed, "")) { try DPoPProof(text) }
        }
        #expect(throws: WireError(.unsupported, "")) {
            try DPoPProof(
                Array(JWS.sign([0x7b, 0x7d], header: .init(type: "jwt", key: JWK(key.publicKey)), with: key).utf8))
        }
        let long = [UInt8](repeating: 65, count: DPoPProof.maximumLength + 1)
        #expect(throws: WireError(.tooLarge, "")) { try DPoPProof(long) }
        #expect(throws: WireError(.malformed, "")) { try DPoPProof(Array(long.dropLast())) }
    }
}
