import Glibc
import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportHTTPAuthentication

/// The stage with a server that checks each proof. No I/O.
@Suite(.timeLimit(.minutes(1)))
struct DigestStageTests {
    private let storage = CredentialStorage()
    private static let ann = Credential(user: "ann", password: Redacted("secret"))
    private static let wrong = Credential(user: "ann", password: Redacted("wrong"))

    private func load(
        _ server: DigestServer, _ url: String = "https://a.example/docs/a", principal: Principal = .instance,
        method: HTTPRequest.Method = .get, body: RequestBody? = nil, credential: Credential? = nil,
        asking responder: (any ChallengeResponder)? = nil
    ) async throws -> LoadResponse {
        var request = LoadRequest(method, try RequestURL(url), body: body)
        request.options.credential = credential
        let context = LoadContext(
            requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(60), idleTimeout: .seconds(60),
            principal: principal, responder: responder)
        return try await LoadChain([AuthenticationStage(credentials: storage), server]).load(request, in: context)
    }

    private func status(
        _ server: DigestServer, _ url: String = "https://a.example/docs/a", principal: Principal = .instance,
        credential: Credential? = ann, asking responder: (any ChallengeResponder)? = nil
    ) async throws -> Int {
        try await load(server, url, principal: principal, credential: credential, asking: responder).head.status.code
    }

    // MARK: Forms

    @Test(
        "RFC 7616 §3.4.1 to §3.4.4",
        arguments: ["MD5", "SHA-256", "SHA-512-256", "MD5-sess", "SHA-256-sess", "SHA-512-256-sess"],
        ["auth", "auth-int", nil] as [String?])
    func eachFormIsAcceptedAndSentAhead(algorithm: String, qop: String?) async throws {
        guard qop != nil || !algorithm.hasSuffix("-sess") else { return }
        for more in ["", ", userhash=true", ", charset=UTF-8", ", charset=UTF-8, userhash=true, opaque=\"o\""] {
            let server = DigestServer {
                $0.algorithms = [algorithm]
                $0.qop = qop
                $0.more = more
                $0.passwords = ["Jäsøn": "pässword"]
                $0.nonce = qop == nil ? "one" : nil
            }
            await storage.clear()
            let doe = Credential(user: "Jäsøn", password: Redacted("pässword"))
            for number in 1...(qop == nil ? 1 : 3) {
                let response = try await load(
                    server, "https://a.example/docs/\(number)?q", method: .post, body: .text("\(number)"),
                    credential: doe)
                #expect(response.head.status == .ok, "\(algorithm) \(qop ?? "-") \(more)")
            }
            guard qop != nil else { continue }
            #expect(server.seen.map(\.count) == [nil, "00000001", "00000002", "00000003"])
        }
    }

    @Test func aBodyThatCanBeHadAgainIsCovered() async throws {
        let server = DigestServer { $0.qop = "auth-int" }
        #expect(try await status(server) == 200)
        let hash = try await BodyHash.of(.restartable { try await $0.write(Array("abc".utf8)) }, .sha256)
        #expect(hash == DigestAlgorithm.Function.sha256.hash(Array("abc".utf8)))
        let folder = try TemporaryDirectory()
        try folder.write("abc", to: "file")
        #expect(try await BodyHash.of(.file(folder.file("file")), .sha256) == hash)
        try folder.write("", to: "long")
        try #require(truncate(folder.file("long"), BodyHash.longestFile.bytes + 1) == 0)
        try #require(mkfifo(folder.file("fifo"), 0o600) == 0)
        for path in ["none", ".", "long", "fifo"] {
            let error = await #expect(throws: LoadError.self) {
                try await BodyHash.of(.file(folder.file(path)), .sha256)
            }
            #expect(error?.code == .fileSystem)
        }
        struct Thrown: Error {}
        let error = await #expect(throws: LoadError.self) {
            try await BodyHash.of(.restartable { _ in throw Thrown() }, .sha256)
        }
        #expect(error?.code == .requestBodyFailed)
    }

    /// Nothing is sent ahead, since it could not be covered; and once it was sent, it cannot be sent again.
    @Test func aBodyThatCannotBeHadAgainIsNotCovered() async throws {
        let server = DigestServer { $0.qop = "auth-int" }
        #expect(try await status(server) == 200)
        let body = RequestBody.once(length: nil) { _ in }
        let error = await #expect(throws: LoadError.self) {
            try await load(server, method: .post, body: body, credential: Self.ann)
        }
        #expect(error?.code == .bodyNotReplayable)
        #expect(server.seen.last?.count == nil)
        server.change { $0.qop = "auth" }
        await storage.clear()
        #expect(try await status(server) == 200)
        #expect(try await load(server, method: .post, body: body).head.status == .ok)
    }

    // MARK: Which challenge

    @Test(
        "RFC 7616 §3.7: MD5 only where nothing else is offered",
        arguments: [
            (["MD5", "SHA-256"], "SHA-256"), (["MD5", "SHA-512-256", "SHA-256"], "SHA-512-256"),
            (["SHA-256", "SHA-512-256", "MD5"], "SHA-256"), (["MD5-sess", "MD5"], "MD5-sess"),
            (["SHA-1", "MD5", "SHA-256-sess"], "SHA-256-sess"),
        ])
    func theStrongestAlgorithmIsTaken(offered: [String], taken: String) throws {
        let offers = offered.map { "Digest realm=r, nonce=n, qop=auth, algorithm=\($0)" }
        let known = ChallengeParser.parse(offers).filter(DigestScheme().takes)
        #expect(DigestScheme().preferred(of: known)?.parameters["algorithm"] == taken)
    }

    @Test func aSpaceWithTwoAlgorithmsIsAskedAboutOnce() async throws {
        let server = DigestServer { $0.algorithms = ["MD5", "SHA-256"] }
        let app = StubResponder([.use(Self.wrong), .performDefaultHandling])
        #expect(try await status(server, credential: nil, asking: app) == 401)
        #expect(app.challenges.map(\.previousFailureCount) == [0, 1])
        #expect(app.challenges.allSatisfy { $0.protectionSpace.method == .digest })
    }

    @Test func aRefusalOfTheAppMakesTheNextMethodBeTried() async throws {
        let server = DigestServer { $0.offersAfter = ["Basic realm=\"b\""] }
        let app = StubResponder([.rejectProtectionSpace, .performDefaultHandling])
        #expect(try await status(server, credential: nil, asking: app) == 401)
        #expect(app.challenges.map(\.protectionSpace.method) == [.digest, .basic])
    }

    @Test func unanswerableChallengesAreSkipped() async throws {
        let server = DigestServer {
            $0.offersBefore = [
                "Digest realm=\"r\", nonce=\"n\", algorithm=SHA-1", "Digest nonce=\"\u{1}\", realm=\"x\"",
            ]
        }
        #expect(try await status(server) == 200)
    }

    // MARK: Sent ahead

    @Test func laterRequestsNeedNoChallenge() async throws {
        let server = DigestServer()
        for path in ["/docs/a", "/docs/b", "/other", "/"] {
            #expect(try await status(server, "https://a.example" + path) == 200)
        }
        #expect(server.seen.map(\.isGood) == [false, true, true, true, true])
        #expect(try await status(server, "https://b.example/docs/a", credential: nil) == 401)
        #expect(server.seen.last?.count == nil, "another origin is told nothing")
    }

    @Test("RFC 7616 §3.3, domain")
    func theDomainSaysWhere() async throws {
        let server = DigestServer {
            $0.more = ", domain=\"/a https://a.example/b https://b.example/ http://a.example/c //evil.example/ :\""
        }
        #expect(try await status(server, "https://a.example/a/1") == 200)
        for (url, isAhead) in [
            ("https://a.example/a/2", true), ("https://a.example/b", true), ("https://a.example/c", false),
            ("https://b.example/", false), ("http://a.example/c", false), ("https://evil.example/", false),
        ] {
            let before = server.seen.count
            _ = try await status(server, url, credential: nil)
            #expect((server.seen[before].count != nil) == isAhead, "\(url)")
            let isSameOrigin = url.hasPrefix("https://a.example/")
            #expect(server.seen.last?.isGood == isSameOrigin, "another origin is told nothing")
        }
    }

    @Test func cachedAnswersUseNoCountAndChangeNoState() async throws {
        let server = DigestServer { $0.cached = ["/cached"] }
        #expect(try await status(server) == 200)
        #expect(try await status(server, "https://a.example/cached") == 200)
        #expect(try await status(server) == 200)
        #expect(server.seen.map(\.count) == [nil, "00000001", "00000002"])
    }

    @Test func aCredentialForOneLoadIsNotKept() async throws {
        let server = DigestServer()
        let once = Credential(user: "ann", password: Redacted("secret"), persistence: .none)
        #expect(try await status(server, credential: once) == 200)
        #expect(try await status(server, credential: nil) == 401)
    }

    @Test func clearedMeansForgotten() async throws {
        let server = DigestServer()
        #expect(try await status(server) == 200)
        await storage.clear(for: .basic)
        #expect(try await status(server, credential: nil) == 200)
        await storage.clear(for: .digest)
        #expect(try await status(server, credential: nil) == 401)
        let space = ProtectionSpace(origin: "https://a.example:443", realm: "r", method: .digest)
        #expect(await storage.session(for: space, of: .instance) { nil } == nil)
    }

    // MARK: Counts

    @Test("RFC 7616 §3.4, nc: no count twice", arguments: [nil, "the only one"] as [String?])
    func requestsAtOnceNeverShareACount(nonce: String?) async throws {
        let server = DigestServer { $0.nonce = nonce }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<200 { group.addTask { try await status(server) } }
            for try await code in group { #expect(code == 200) }
        }
        let used = server.seen.compactMap { seen in seen.count.map { "\(seen.nonce ?? "") \($0)" } }
        #expect(Set(used).count == used.count && used.count >= 200)
    }

    @Test func aRequestThatIsSentTwiceHasTwoProofs() async throws {
        let challenge = try #require(ChallengeParser.parse(["Digest realm=r, nonce=n, qop=auth"]).first)
        let space = ProtectionSpace(origin: "https://a.example:443", realm: "r", method: .digest)
        let session = try #require(DigestScheme().makeSession(challenge, in: space, of: .instance))
        let signature = try await session.signature(
            for: .get("https://a.example/"), to: .server, with: Self.ann, until: .now + .seconds(60))
        #expect(await !signature.isMade)
        let fields = [await signature.make(), await signature.make()].compactMap { $0?.reveal() }
        #expect(fields.count == 2 && fields[1].contains("nc=00000002"))
        #expect(await signature.isMade)
    }

    // MARK: Stale

    @Test("RFC 7616 §3.3, stale")
    func aNonceThatIsTooOldIsNoFailure() async throws {
        let server = DigestServer { $0.lifetime = 2 }
        let app = StubResponder([.use(Self.ann)])
        for _ in 0..<6 { #expect(try await status(server, credential: nil, asking: app) == 200) }
        #expect(app.challenges.map(\.previousFailureCount) == [0])
        #expect(server.seen.map(\.isGood) == [false, true, true, false, true, true, false, true, true])
    }

    @Test func aServerThatAlwaysSaysSoIsNotBelieved() async throws {
        let server = DigestServer { $0.isAlwaysStale = true }
        let app = StubResponder([.use(Self.ann)])
        #expect(try await status(server, credential: nil, asking: app) == 401)
        #expect(server.seen.count == 2 + Negotiation.renewalLimit)
        #expect(app.challenges.map(\.previousFailureCount) == [0, 1])
    }

    @Test func theSameNonceIsNotTooOld() async throws {
        let server = DigestServer {
            $0.isAlwaysStale = true
            $0.nonce = "same"
        }
        #expect(try await status(server) == 401)
        #expect(server.seen.count == 2)
    }

    @Test func endlessChallengesEnd() async throws {
        let server = DigestServer()
        let app = StubResponder { .use(Credential(user: "ann", password: Redacted("wrong \($0)"))) }
        #expect(try await status(server, credential: nil, asking: app) == 401)
        #expect(server.seen.count == Negotiation.limit + 1)
    }

    @Test func aPasswordThatHasChangedIsForgotten() async throws {
        let server = DigestServer()
        #expect(try await status(server) == 200)
        server.change { $0.passwords = ["ann": "new"] }
        #expect(try await status(server, credential: nil) == 401)
        #expect(try await status(server, credential: nil) == 401)
        #expect(server.seen.map { $0.count != nil } == [false, true, true, false])
        #expect(try await status(server, credential: Credential(user: "ann", password: Redacted("new"))) == 200)
    }

    // MARK: Authentication-Info

    @Test("RFC 7616 §3.5, nextnonce")
    func theNextNonceIsUsed() async throws {
        let server = DigestServer {
            $0.namesNextNonce = true
            $0.lifetime = 1
        }
        for _ in 0..<3 { #expect(try await status(server) == 200) }
        #expect(server.seen.map(\.nonce) == [nil, "nonce1", "nonce2", "nonce3"])
        #expect(server.seen.compactMap(\.count).allSatisfy { $0 == "00000001" })
    }

    @Test("RFC 7616 §3.5, rspauth", arguments: ["MD5", "SHA-256-sess", "SHA-512-256"], ["auth", "auth-int"])
    func aServerThatKnowsTheUserIsBelieved(algorithm: String, qop: String) async throws {
        let server = DigestServer {
            $0.algorithms = [algorithm]
            $0.qop = qop
            $0.vouching = "secret"
            $0.body = Array("body".utf8)
        }
        for _ in 0..<2 {
            let response = try await load(server, credential: Self.ann)
            #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array("body".utf8))
        }
    }

    @Test(arguments: ["auth", "auth-int"])
    func aServerThatDoesNotKnowTheUserIsNotBelieved(qop: String) async throws {
        let server = DigestServer {
            $0.qop = qop
            $0.vouching = "something else"
            $0.body = Array("body".utf8)
        }
        let error = await #expect(throws: LoadError.self) {
            _ = try await load(server, credential: Self.ann).body.collect(upTo: .kibibytes(1))
        }
        #expect(error?.code == .serverNotAuthenticated)
        #expect(!"\(String(describing: error))".contains("secret"))
    }

    @Test func aBodyThatTheServerDidNotVouchForIsAnError() async throws {
        let server = DigestServer {
            $0.vouching = "secret"
            $0.vouchedQOP = "auth-int"
            $0.body = Array("another body".utf8)
        }
        let response = try await load(server, credential: Self.ann)
        let error = await #expect(throws: LoadError.self) { try await response.body.collect(upTo: .kibibytes(1)) }
        #expect(error?.code == .serverNotAuthenticated)
    }

    // MARK: Principals

    @Test func twoUsersSideBySide() async throws {
        let server = DigestServer { $0.passwords = ["ann": "secret", "bob": "his"] }
        let bob = Credential(user: "bob", password: Redacted("his"))
        for _ in 0..<3 {
            #expect(try await status(server, principal: Principal("a")) == 200)
            #expect(try await status(server, principal: Principal("b"), credential: bob) == 200)
        }
        #expect(server.seen.map(\.user) == [nil, "ann", nil, "bob", "ann", "bob", "ann", "bob"])
        #expect(try await status(server, principal: Principal("c"), credential: nil) == 401)
    }

    @Test func aPrincipalIsOneUser() async throws {
        let server = DigestServer { $0.passwords = ["ann": "secret", "bob": "his"] }
        let once = Credential(user: "bob", password: Redacted("his"), persistence: .none)
        #expect(try await status(server, credential: once) == 200)
        let error = await #expect(throws: LoadError.self) { try await status(server) }
        #expect(error?.code == .otherPrincipal)
        await storage.clear(for: .digest)
        #expect(try await status(server) == 200)
    }

    @Test func aRequestForAnotherUserIsNotProvedAsTheKnownOne() async throws {
        let server = DigestServer { $0.passwords = ["ann": "secret", "bob": "his"] }
        let bob = Credential(user: "bob", password: Redacted("his"))
        #expect(try await status(server) == 200)
        let error = await #expect(throws: LoadError.self) { try await status(server, credential: bob) }
        #expect(error?.code == .otherPrincipal)
        #expect(server.seen.map(\.user) == [nil, "ann", nil])
        #expect(try await status(server) == 200)
    }

    @Test(arguments: ["a\nb", "a\u{0}", "\u{7f}"])
    func controlCharactersInANameAreRefused(user: String) async throws {
        let error = await #expect(throws: LoadError.self) {
            try await status(DigestServer(), credential: Credential(user: user, password: Redacted("p")))
        }
        #expect(error?.code == .invalidRequest)
    }

    // MARK: More spaces than are kept

    /// The session of a realm that a server makes up.
    private func makeSession(_ number: Int) async {
        let space = ProtectionSpace(origin: "https://a.example:443", realm: "\(number)", method: .digest)
        _ = await storage.session(for: space, of: .instance) {
            DigestChallenge(ChallengeParser.parse(["Digest realm=r, nonce=n"])[0]).map { DigestSession($0) { "c" } }
        }
    }

    @Test func sessionsOfRealmsThatAServerMakesUpAreForgotten() async {
        for number in 0...CredentialBook.limit { await makeSession(number) }
        let first = ProtectionSpace(origin: "https://a.example:443", realm: "0", method: .digest)
        let second = ProtectionSpace(origin: "https://a.example:443", realm: "1", method: .digest)
        #expect(await storage.session(for: first, of: .instance) { nil } == nil)
        #expect(await storage.session(for: second, of: .instance) { nil } != nil)
    }

    @Test func aSpaceWhoseSessionIsForgottenIsAskedForAgain() async throws {
        let server = DigestServer()
        #expect(try await status(server) == 200)
        for number in 0..<CredentialBook.limit { await makeSession(number) }
        #expect(try await status(server) == 200)
        #expect(try await status(server) == 200)
        #expect(server.seen.map(\.user) == [nil, "ann", nil, "ann", "ann"])
    }

    @Test func theSessionThatIsUsedLeastRecentlyIsForgotten() async throws {
        let server = DigestServer()
        #expect(try await status(server) == 200)
        for number in 1..<CredentialBook.limit { await makeSession(number) }
        #expect(try await status(server) == 200)
        await makeSession(CredentialBook.limit)
        #expect(try await status(server) == 200)
        #expect(server.seen.map(\.user) == [nil, "ann", "ann", "ann"])
    }
}
