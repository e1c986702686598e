import SallyportBase
import SallyportCore
import Testing

@testable import SallyportHTTPAuthentication

/// Published values, and those that another implementation (Python's hashlib) computed for the forms that have none.
@Suite struct DigestVectorTests {
    private static let mufasa = Credential(user: "Mufasa", password: Redacted("Circle of Life"))
    private static let clientNonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"

    /// The challenge of RFC 7616 §3.9.1.
    private static func challenge(_ algorithm: String, qop: String) -> String {
        """
        Digest realm="http-auth@example.org", qop="\(qop)", algorithm=\(algorithm), \
        nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
        """
    }

    private func field(
        _ challenge: String, _ credential: Credential = mufasa, clientNonce: String = clientNonce,
        method: String = "GET", target: String = "/dir/index.html", body: String? = nil
    ) throws -> [String: String] {
        let challenge = try #require(ChallengeParser.parse([challenge]).first.flatMap(DigestChallenge.init))
        var conversation = DigestConversation(challenge)
        let hash = body.map { challenge.algorithm.function.hash(Array($0.utf8)) }
        let message = DigestMessage(method: method, target: target, bodyHash: hash)
        let made = conversation.proof(of: message, for: credential, clientNonce: clientNonce)
        let parsed = ChallengeParser.parse([made?.field ?? ""])
        return try #require(parsed.first).parameters
    }

    @Test(
        "RFC 7616 §3.9.1",
        arguments: [
            ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
            ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ])
    func theExampleOfTheStandard(algorithm: String, response: String) throws {
        let said = try field(Self.challenge(algorithm, qop: "auth, auth-int"))
        #expect(
            said == [
                "username": "Mufasa", "realm": "http-auth@example.org", "uri": "/dir/index.html",
                "algorithm": algorithm, "nonce": "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", "nc": "00000001",
                "cnonce": Self.clientNonce, "qop": "auth", "response": response,
                "opaque": "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS",
            ])
    }

    @Test("RFC 7616 §3.9.2 with erratum 4897")
    func theExampleOfHashedNames() throws {
        let challenge = """
            Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, \
            nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", \
            opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8, userhash=true
            """
        let doe = Credential(user: "Jäsøn Doe", password: Redacted("Secret, or not?"))
        let said = try field(
            challenge, doe, clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v", target: "/doe.json")
        #expect(said["username"] == "793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b")
        #expect(said["response"] == "3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5")
        #expect(said["userhash"] == "true" && said["username*"] == nil)
    }

    @Test("RFC 2617 §3.5")
    func theExampleOfTheOlderStandard() throws {
        let challenge = """
            Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", \
            opaque="5ccc069c403ebaf9f0171e9517f40e41"
            """
        let mufasa = Credential(user: "Mufasa", password: Redacted("Circle Of Life"))
        let said = try field(challenge, mufasa, clientNonce: "0a4f113b")
        #expect(said["response"] == "6629fae49393a05397450978507c4ef1")
        #expect(said["algorithm"] == nil, "the server named none")
    }

    @Test("RFC 2069 §2.4, as erratum 749 has it")
    func theFormWithoutProtection() throws {
        let challenge = "Digest realm=\"testrealm@host.com\", nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\""
        let mufasa = Credential(user: "Mufasa", password: Redacted("CircleOfLife"))
        let said = try field(challenge, mufasa)
        #expect(said["response"] == "1949323746fe6a43ef61f9606e7febea")
        #expect(said["cnonce"] == nil && said["nc"] == nil && said["qop"] == nil)
    }

    @Test(
        "RFC 7616 §3.4.2, session keys",
        arguments: [
            ("MD5-sess", "e783283f46242139c486a698fec7211d", "219a5013deac8cc0196aa7ffce97179c"),
            (
                "SHA-256-sess", "2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232ae1ea3efd7",
                "78c15350c379e32f66977f48267f8347871c3adfa202c543d7b0f0c9743ed5ab"
            ),
            (
                "SHA-512-256-sess", "3f2a34f923c38b0fb26dce2fdfc2ce326c23cecf86fbb1444f3e51fbbc2cb92e",
                "56c44beb40220985d0b191f8d0822de1a4cdd49a35ca372b8b1168d4dac759d2"
            ),
        ])
    func sessionKeys(algorithm: String, plain: String, withBody: String) throws {
        #expect(try field(Self.challenge(algorithm, qop: "auth"))["response"] == plain)
        let said = try field(Self.challenge(algorithm, qop: "auth-int"), method: "POST", body: "body")
        #expect(said["response"] == withBody && said["qop"] == "auth-int")
    }

    @Test("RFC 7616 §3.4.3, the body too")
    func theBodyIsCovered() throws {
        let said = try field(Self.challenge("SHA-256", qop: "auth-int"), method: "POST", body: "body")
        #expect(said["response"] == "329dcaaa9ce45c3ea5f919f438118f338057e9104aa58ecd51368264e88ced0c")
    }

    @Test func theHashesAreThoseOfTheirNames() {
        let abc = Array("abc".utf8)
        func hash(_ function: DigestAlgorithm.Function) -> String {
            String(decoding: function.hash(abc), as: UTF8.self)
        }
        #expect(hash(.md5) == "900150983cd24fb0d6963f7d28e17f72")
        #expect(hash(.sha256) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(hash(.sha512t256) == "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23")
        for function in DigestAlgorithm.Function.allCases {
            var running = RunningDigest(function)
            for byte in abc { running.update([byte]) }
            #expect(running.digits == function.hash(abc))
        }
    }
}
