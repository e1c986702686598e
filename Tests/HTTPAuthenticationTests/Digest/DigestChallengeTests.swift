import SallyportBase
import SallyportCore
import Testing

@testable import SallyportHTTPAuthentication

/// RFC 7616 §3.3 and §3.4: what is taken of a challenge, and how an answer is written.
@Suite struct DigestChallengeTests {
    private func read(_ text: String) -> DigestChallenge? {
        ChallengeParser.parse(["Digest " + text]).first.flatMap(DigestChallenge.init)
    }

    private func field(_ text: String, user: String = "ann", clientNonce: String = "c") throws -> String {
        var conversation = DigestConversation(try #require(read(text)))
        let credential = Credential(user: user, password: Redacted("secret"))
        let message = DigestMessage(method: "GET", target: "/a?b")
        let made = conversation.proof(of: message, for: credential, clientNonce: clientNonce)
        return try #require(made).field
    }

    // MARK: §3.3

    @Test(arguments: [
        (nil, "MD5"), ("MD5", "MD5"), ("md5-sess", "MD5-sess"), ("sha-256", "SHA-256"), ("\"SHA-256\"", "SHA-256"),
        ("SHA-256-sess", "SHA-256-sess"), ("SHA-512-256", "SHA-512-256"), ("SHA-512-256-SESS", "SHA-512-256-sess"),
    ])
    func algorithmsAreKnownByName(name: String?, known: String) throws {
        let algorithm = name.map { ", algorithm=\($0)" } ?? ""
        let challenge = try #require(read("realm=\"r\", nonce=\"n\", qop=\"auth\"\(algorithm)"))
        #expect("\(challenge.algorithm)" == known && challenge.algorithmName == name?.filter { $0 != "\"" })
    }

    @Test(arguments: [
        "realm=\"r\"", "nonce=\"n\"", "realm=\"r\", nonce=\"\"", "abcd==",
        "realm=\"r\", nonce=\"n\", algorithm=SHA-512", "realm=\"r\", nonce=\"n\", algorithm=AKA-MD5",
        "realm=\"r\", nonce=\"n\", algorithm=-sess", "realm=\"r\", nonce=\"n\", qop=\"token\"",
        "realm=\"r\", nonce=\"n\", qop=\"\"", "realm=\"r\", nonce=\"n\", algorithm=MD5-sess",
        "realm=\"r\", nonce=\"n\u{7}\"", "realm=\"r\", nonce=\"n\", opaque=\"a\r\nX: y\"",
        "realm=\"a\u{0}b\", nonce=\"n\"",
        "realm=\"r\", nonce=\"ñ\"", "realm=\"r\", nonce=\"n\", opaque=\"\u{fffd}\"",
    ])
    func unanswerableChallengesAreSkipped(text: String) { #expect(read(text) == nil) }

    @Test func valuesHaveALimit() {
        let longest = String(repeating: "n", count: DigestChallenge.longestValue)
        #expect(read("realm=\"\(longest)\", nonce=\"\(longest)\", opaque=\"\(longest)\"") != nil)
        #expect(read("realm=\"r\", nonce=\"\(longest)n\"") == nil)
        #expect(read("realm=\"\(longest)n\", nonce=\"n\"") == nil)
        #expect(read("realm=\"r\", nonce=\"n\", opaque=\"\(longest)n\"") == nil)
        let uris = Array(repeating: "/a", count: DigestChallenge.domainLimit + 1).joined(separator: " ")
        #expect(read("realm=\"r\", nonce=\"n\", domain=\"\(uris)\"")?.domain.count == DigestChallenge.domainLimit)
    }

    @Test(arguments: [
        ("auth", DigestProtection.auth), ("auth-int", .authInt), ("auth-int, auth", .auth), ("AUTH,x", .auth),
        ("x auth-int", .authInt),
    ])
    func authIsTakenWhereverItIsOffered(offers: String, taken: DigestProtection) {
        #expect(read("realm=\"r\", nonce=\"n\", qop=\"\(offers)\"")?.protection == taken)
    }

    @Test func valuesMayHaveQuotesOrNone() throws {
        let bare = try #require(read("realm=r, nonce=n, qop=auth, stale=TRUE, charset=utf-8, userhash=True"))
        let quoted = read(
            "realm=\"r\", nonce=\"n\", qop=\"auth\", stale=\"true\", charset=\"UTF-8\", userhash=\"true\"")
        #expect(bare == quoted && bare.isStale && bare.isUTF8 && bare.hashesUser)
        let plain = try #require(read("realm=r, nonce=n, stale=yes, charset=latin1, userhash=1"))
        #expect(!plain.isStale && !plain.isUTF8 && !plain.hashesUser)
    }

    // MARK: §3.4

    @Test func quotesAreEscapedAndHashedWithoutTheEscapes() throws {
        let said = try field("realm=\"a \\\"b\\\" \\\\c\", nonce=\"\\\"n\", opaque=\"\\\\\", qop=auth", user: "a\"n\\n")
        #expect(said.contains("username=\"a\\\"n\\\\n\", realm=\"a \\\"b\\\" \\\\c\", nonce=\"\\\"n\""))
        #expect(said.contains("opaque=\"\\\\\""))
        let parsed = try #require(ChallengeParser.parse([said]).first).parameters
        let function = DigestAlgorithm.Function.md5
        let key = function.hash(Array("a\"n\\n:a \"b\" \\c:secret".utf8))
        let second = function.hash(Array("GET:/a?b".utf8))
        let response = function.hash(key, Array("\"n:00000001:c:auth".utf8), second)
        #expect(parsed["response"] == String(decoding: response, as: UTF8.self))
    }

    @Test func namesBeyondASCIIAreExtendedWhereTheServerTakesUTF8() throws {
        let extended = try field("realm=r, nonce=n, qop=auth, charset=UTF-8", user: "Jäsøn Doe")
        #expect(extended.contains("username*=UTF-8''J%C3%A4s%C3%B8n%20Doe,") && !extended.contains("username="))
        #expect(try field("realm=r, nonce=n, qop=auth", user: "Jäsøn").contains("username=\"Jäsøn\""))
        #expect(try field("realm=r, nonce=n, qop=auth, charset=UTF-8").contains("username=\"ann\""))
        let hashed = try field("realm=r, nonce=n, qop=auth, charset=UTF-8, userhash=true", user: "Jäsøn")
        #expect(!hashed.contains("username*") && !hashed.contains("Jäsøn") && hashed.contains("userhash=true"))
    }

    @Test func onlyWhatNeedsQuotesHasThem() throws {
        let said = try field("realm=r, nonce=n, qop=\"auth\", algorithm=\"SHA-256\"")
        #expect(said.contains(", algorithm=SHA-256, ") && said.contains(", qop=auth, nc=00000001"))
    }

    // MARK: §3.4.2

    @Test func aSessionKeepsItsKeyAndClientNonceUntilItIsAskedAgain() throws {
        let first = try #require(read("realm=r, nonce=n, qop=auth, algorithm=MD5-sess"))
        var conversation = DigestConversation(first)
        let ann = Credential(user: "ann", password: Redacted("secret"))
        let message = DigestMessage(method: "GET", target: "/")
        var proofs: [DigestProof] = []
        for nonce in ["c1", "c2"] {
            let made = conversation.proof(of: message, for: ann, clientNonce: nonce)
            proofs.append(try #require(made).proof)
        }
        #expect(proofs.map(\.clientNonce) == ["c1", "c1"] && proofs[0].key == proofs[1].key)
        conversation.informed(of: "next")
        let afterNext = conversation.proof(of: message, for: ann, clientNonce: "c3")
        let third = try #require(afterNext).proof
        #expect(third.clientNonce == "c1" && third.key == proofs[0].key && third.nonce == "next")
        conversation.challenged(by: first)
        let askedAgain = conversation.proof(of: message, for: ann, clientNonce: "c4")
        let fourth = try #require(askedAgain).proof
        #expect(fourth.clientNonce == "c4" && fourth.key != proofs[0].key)
        #expect(String(decoding: fourth.count, as: UTF8.self) == "00000003", "the nonce is one that was used twice")
    }

    // MARK: Nonce counts

    /// A macro evaluates a copy.
    private func expect(_ taken: UInt32?, _ expected: UInt32?, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(taken == expected, sourceLocation: sourceLocation)
    }

    @Test func countsGoOnWhereANonceComesAgain() {
        var book = NonceBook("a")
        let counts = [book.take(), book.take()]
        #expect(counts == [1, 2])
        book.change(to: "b")
        expect(book.take(), 1)
        book.change(to: "a")
        book.change(to: "a")
        expect(book.take(), 3)
    }

    @Test func aNonceIsUsedUpBeforeItsCountBeginsAnew() {
        var book = NonceBook("a", count: .max - 1)
        expect(book.take(), .max)
        expect(book.take(), nil)
        book.change(to: "b")
        expect(book.take(), 1)
    }

    @Test func noncesOfLongAgoAreForgotten() {
        var book = NonceBook("0")
        _ = book.take()
        for number in 1...NonceBook.limit { book.change(to: "\(number)") }
        book.change(to: "0")
        expect(book.take(), 2)
        for number in 1...NonceBook.limit + 1 { book.change(to: "x\(number)") }
        book.change(to: "0")
        expect(book.take(), 1)
    }

    // MARK: §3.5

    @Test func theServersAuthenticationInfoIsRead() {
        let info = AuthenticationInfo([
            "nextnonce=\"n2\", qop=auth, rspauth=\"AB\"", "cnonce=\"c\", nc=00000001, garbage=, nc=2, =, \"",
        ])
        #expect(info.nextNonce == "n2" && info.protection == .auth && info.responseProof == "AB")
        #expect(info.clientNonce == "c" && info.count == "00000001")
        let tooLong = String(repeating: "n", count: DigestChallenge.longestValue + 1)
        for nonce in ["", "a\u{1}", "ñ", tooLong] {
            #expect(AuthenticationInfo(["nextnonce=\"\(nonce)\""]).nextNonce == nil)
        }
        let many = (0..<AuthenticationInfo.limit).map { "p\($0)=1" }.joined(separator: ", ")
        #expect(AuthenticationInfo([many, "rspauth=\"x\""]).responseProof == nil)
    }
}
