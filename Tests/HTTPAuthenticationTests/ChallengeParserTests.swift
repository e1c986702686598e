import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportHTTPAuthentication

/// RFC 9110 §11.6.1, with what real servers send.
@Suite struct ChallengeParserTests {
    private func parse(_ fields: String...) -> [OfferedScheme] { ChallengeParser.parse(fields) }

    private func scheme(_ name: String, _ parameters: [String: String] = [:], token68: String? = nil) -> OfferedScheme {
        var offered = OfferedScheme(name: name)
        offered.parameters = parameters
        offered.token68 = token68
        return offered
    }

    @Test(
        arguments: [
            ("Basic", [:]), ("Basic realm=\"a\"", ["realm": "a"]), ("bAsIc REALM=\"a\"", ["realm": "a"]),
            ("Basic realm=a", ["realm": "a"]), ("Basic realm = \"a\"", ["realm": "a"]),
            ("Basic realm=\"\"", ["realm": ""]), ("Basic realm=\"a, b\"", ["realm": "a, b"]),
            (#"Basic realm="a\"b\\c", charset="UTF-8""#, ["realm": #"a"b\c"#, "charset": "UTF-8"]),
            ("  Basic \t realm=\"a\" ,, charset=UTF-8 ,", ["realm": "a", "charset": "UTF-8"]),
            ("Basic realm=\"Käse\"", ["realm": "Käse"]), ("Basic ,realm=\"a\"", ["realm": "a"]),
        ] as [(String, [String: String])])
    func oneChallenge(_ field: String, _ parameters: [String: String]) {
        #expect(parse(field) == [scheme("basic", parameters)])
    }

    @Test func severalInOneFieldAndInSeveral() {
        let expected = [
            scheme("negotiate"), scheme("ntlm"), scheme("digest", ["realm": "a", "nonce": "b=="]),
            scheme("basic", ["realm": "a"]),
        ]
        #expect(parse("Negotiate, NTLM, Digest realm=\"a\", nonce=\"b==\", Basic realm=\"a\"") == expected)
        #expect(parse("Negotiate", "NTLM", "Digest realm=\"a\", nonce=\"b==\"", "Basic realm=\"a\"") == expected)
        #expect(parse("Negotiate", "NTLM, Digest realm=\"a\"", "nonce=\"b==\", Basic realm=\"a\"") == expected)
    }

    @Test(arguments: ["TlRMTVNTUAAC", "a==", "a", "-._~+/=", "realm="])
    func dataInPlaceOfParameters(_ data: String) {
        #expect(parse("NTLM \(data), Basic") == [scheme("ntlm", token68: data), scheme("basic")])
    }

    @Test func unknownParametersAreKept() {
        #expect(parse("Bearer realm=\"x\", error=\"e\"") == [scheme("bearer", ["realm": "x", "error": "e"])])
    }

    /// The challenge with the mistake is left out, and no other.
    @Test(
        arguments: [
            "Basic realm=\"a", "Basic realm=\"a\" x", "Basic realm=\"a\", realm=\"b\"", "Basic a b",
            "Basic realm=\"a\"; charset=UTF-8", "Basic realm=\"a\"\"b\"", "Basic a, x=\"1\"",
        ])
    func aMistakeCostsItsOwnChallenge(_ field: String) {
        #expect(parse("Negotiate", field, "NTLM") == [scheme("negotiate"), scheme("ntlm")])
    }

    @Test(arguments: ["", " ", ",", "=", "realm=\"a\"", "\"", "\\", "@", ", ,=,"])
    func invalidChallengesAreIgnored(_ field: String) {
        #expect(parse(field).isEmpty)
    }

    @Test func limitsHold() {
        let many = (0..<100).map { "Scheme\($0)" }.joined(separator: ", ")
        #expect(parse(many).count == ChallengeParser.limit)
        let parameters = (0..<ChallengeParser.limit).map { "p\($0)=1" }.joined(separator: ", ")
        #expect(parse("Basic \(parameters)").count == 1)
        #expect(parse("Basic \(parameters), one=more").isEmpty)
    }

    @Test func randomFieldsNeverTrap() {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            "Basic", "NTLM", " ", ",", "=", "\"", "\\", "realm", "a", "==", "\t", "ü", "\u{0}", "Digest", ";",
        ]
        for _ in 0..<10_000 {
            let field = (0..<Int.random(in: 0..<20, using: &generator)).map { _ in
                pieces[Int.random(in: 0..<pieces.count, using: &generator)]
            }.joined()
            let found = ChallengeParser.parse([field, field])
            #expect(found.count <= ChallengeParser.limit, "\(field)")
        }
    }
}

@Suite struct BasicSchemeTests {
    private func field(_ user: String, _ password: String) throws -> String {
        try BasicScheme().authorization(
            answering: OfferedScheme(name: "basic"),
            with: .init(user: user, password: .init(password)), for: .get("https://a.example/")
        ).reveal()
    }

    /// The examples of RFC 7617 §2 and §2.1.
    @Test func theExamplesOfTheSpecification() throws {
        #expect(try field("Aladdin", "open sesame") == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")
        #expect(try field("test", "123\u{a3}") == "Basic dGVzdDoxMjPCow==")
    }

    @Test func aPasswordMayHaveColonsAndBeEmpty() throws {
        #expect(try field("", "") == "Basic Og==")
        #expect(try field("a", ":b:") == "Basic YTo6Yjo=")
    }

    @Test(arguments: [("a:b", "c"), ("a\n", "c"), ("a", "c\r\nX: y"), ("a\u{7f}", "c"), ("a", "\u{0}")])
    func unsendableCredentialsAreRefused(_ user: String, _ password: String) {
        #expect(throws: (any Error).self) { try field(user, password) }
    }

    /// RFC 7617 §2.2.
    @Test(
        arguments: [
            ("https://a.example", "/"), ("https://a.example/", "/"), ("https://a.example/docs/", "/docs/"),
            ("https://a.example/docs/a.html?x=/y/", "/docs/"), ("https://a.example/docs", "/"),
        ])
    func theScopeIsAsDeepAsTheLastSlash(_ url: String, _ scope: String) throws {
        #expect(try BasicScheme().scope(of: .init(url)) == scope)
    }
}
