import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import TestSupport
import Testing

@testable import SallyportCache

/// RFC 9111 §3: what is stored.
@Suite(.timeLimit(.minutes(1))) struct StoringTests {
    /// Loads twice; whether the server saw both.
    private func isStored(
        _ answer: Answer, _ fields: KeyValuePairs<String, String> = [:], method: HTTPRequest.Method = .get
    ) async throws -> Bool {
        let site = try await Site(answer)
        _ = try await site.get("/", fields, method: method)
        _ = try await site.get()
        return site.count == 1
    }

    @Test func s3_aFreshAnswerIsUsedAgain() async throws { #expect(try await isStored(.fresh())) }

    @Test func s3_onlyGetIsStored() async throws {
        #expect(try await !isStored(.fresh(), method: .post))
        #expect(try await !isStored(.fresh(), method: .head))
        #expect(try await !isStored(.fresh(), method: .options))
        #expect(try await !isStored(.fresh(), method: HTTPRequest.Method("QUERY") ?? .get))
    }

    @Test func s3_noStoreIsNotStored() async throws {
        #expect(try await !isStored(Answer(200, ["Cache-Control": "max-age=60, no-store"])))
        #expect(try await !isStored(Answer(200, ["Cache-Control": "max-age=60", "cache-control": "NO-STORE"])))
        #expect(try await !isStored(Answer(200, ["Cache-Control": "max-age=60, no-store, x=\"y\""])))
        #expect(try await !isStored(.fresh(), ["Cache-Control": "no-store"]))
    }

    @Test func s3_whatCannotBeUsedAgainIsNotStored() async throws {
        let site = try await Site(Answer())
        _ = try await site.get()
        #expect(site.cache.statistics.entries == 0)
        #expect(try await !isStored(Answer(302, ["Location": "/b"])))
        #expect(try await isStored(Answer(302, ["Location": "/b", "Cache-Control": "max-age=60"])))
        #expect(try await isStored(Answer(200, ["Cache-Control": "private, max-age=60"])))
        #expect(try await isStored(Answer(599, ["Cache-Control": "public, max-age=60"])))
    }

    /// RFC 9213: what is for other caches says nothing to this one.
    @Test func targetedDirectivesAreIgnored() async throws {
        #expect(try await isStored(Answer(200, ["Cache-Control": "max-age=60", "CDN-Cache-Control": "no-store"])))
        #expect(
            try await !isStored(Answer(200, ["CDN-Cache-Control": "max-age=60", "Surrogate-Control": "max-age=60"])))
    }

    /// Challenges are never stored, whatever they say.
    @Test(arguments: [401, 407, 304, 412, 416, 421])
    func s3_challengesAndConditionsAreNeverStored(_ status: Int) async throws {
        let site = try await Site(Answer(status, ["Cache-Control": "public, max-age=60", "ETag": "\"a\""]))
        _ = try await site.get()
        #expect(site.cache.statistics.entries == 0)
    }

    /// §5.2.2.3: `must-understand` lifts `no-store` where the status is understood, and forbids where it is not.
    @Test func s5_2_2_3_mustUnderstand() async throws {
        #expect(try await isStored(Answer(200, ["Cache-Control": "max-age=60, no-store, must-understand"])))
        #expect(try await !isStored(Answer(299, ["Cache-Control": "max-age=60, no-store, must-understand"])))
        #expect(try await !isStored(Answer(299, ["Cache-Control": "max-age=60, must-understand"])))
        #expect(try await isStored(Answer(299, ["Cache-Control": "max-age=60"])))
    }

    /// §3.1
    @Test func s3_1_fieldsOfTheConnectionAreNotStored() async throws {
        let site = try await Site(
            Answer(
                200,
                [
                    "Cache-Control": "max-age=60, no-cache=\"x-private\"", "Connection": "x-hop, close",
                    "X-Hop": "1", "Keep-Alive": "timeout=5", "Transfer-Encoding": "chunked", "Upgrade": "h2c",
                    "TE": "trailers", "Proxy-Authenticate": "Basic", "Proxy-Connection": "close",
                    "Proxy-Authentication-Info": "x", "Authentication-Info": "nextnonce=1", "X-Private": "secret",
                    "Set-Cookie": "a=b", "WWW-Authenticate": "Negotiate x", "Trailer": "x-t", "X-Kept": "1",
                ]))
        let first = try await site.load().head
        #expect(first.headerFields[.setCookie] == "a=b" && first.headerFields[.custom("X-Hop")] == "1")
        let second = try await site.load().head
        #expect(site.count == 1)
        #expect(
            Set(second.headerFields.map(\.name.canonicalName)) == [
                "cache-control", "authentication-info", "set-cookie", "www-authenticate", "trailer", "x-kept", "age",
            ], "All that are not of the connection or the proxy.")
    }

    /// Stored fields are only shown: cookies and proofs are read from what the server sends now.
    @Test func storedFieldsAreNotOnesThatTheServerSentNow() async throws {
        let site = try await Site(
            Answer(
                200, ["Cache-Control": "max-age=60", "Set-Cookie": "a=b", "Authentication-Info": "nextnonce=1"]))
        let first = try await site.response(to: site.request())
        #expect(first.fieldsSentNow[.setCookie] == "a=b" && first.facts.cache == .miss)
        _ = try await first.body.collect(upTo: .mebibytes(1))
        await site.cache.settle()
        let second = try await site.response(to: site.request())
        #expect(second.head.headerFields[.setCookie] == "a=b" && second.facts.cache == .hit)
        #expect(second.fieldsSentNow.isEmpty && second.facts.decision?.route == .direct)
    }

    /// §3.3
    @Test func s3_3_whatCannotBeCompletedIsNotStored() async throws {
        var answer = Answer.fresh()
        answer.failure = LoadError(.connectionLost, at: .response, "gone")
        let site = try await Site(answer)
        await #expect(throws: LoadError.self) { try await site.get() }
        #expect(site.cache.statistics.entries == 0)
        for length in ["5", "1", "-1", "x", "99999999999999999999"] {
            let lying = try await Site(
                Answer(200, ["Cache-Control": "max-age=60", "Content-Length": length], body: Array("abc".utf8)))
            _ = try await lying.get()
            #expect(lying.cache.statistics.entries == 0, "\(length)")
        }
        #expect(
            try await isStored(
                Answer(200, ["Cache-Control": "max-age=60", "Content-Length": "3"], body: Array("abc".utf8))))
    }

    @Test func aBodyThatIsLeftUnreadLeavesNoEntry() async throws {
        let site = try await Site(
            Answer(200, ["Cache-Control": "max-age=60"], body: Array(repeating: 7, count: 900_000)))
        do {
            let response = try await site.response(to: site.request())
            _ = try await response.body.next()
        }
        do { _ = try await site.response(to: site.request()) }
        await site.cache.settle()
        #expect(site.cache.statistics.entries == 0)
        #expect(try site.store.statistics().records == 0, "Nor any bytes of it.")
    }

    /// §3.5: a private cache stores answers to requests with credentials; requests without them do not get these
    /// answers.
    @Test func s3_5_answersToCredentialsAreForThemAlone() async throws {
        let site = try await Site(.fresh())
        #expect(try await site.get("/", ["Authorization": "Basic YTpi"]) == "1")
        #expect(try await site.get("/", ["Authorization": "Basic YTpi"]) == "1")
        #expect(try await site.get("/", ["Authorization": "Basic YTpj"]) == "2")
        #expect(try await site.get() == "3")
    }

    /// A proof is made only when a request is sent: its answer is not used for a request without a proof and, after a
    /// restart, when the proof may be another user's, for no request at all. A cache hit makes no proof.
    @Test func answersToSignedRequestsAreForThemAlone() async throws {
        final class Signer: RequestSigner {
            let count = Lock(0)
            func sign(_ fields: inout HTTPFields) { count.withLock { $0 += 1 } }
        }
        func signed(_ site: Site, _ signer: Signer) async throws -> String {
            let response = try await site.response(to: site.request(), signedBy: signer)
            let body = try await response.body.collect(upTo: .mebibytes(1))
            await site.cache.settle()
            return String(decoding: body, as: UTF8.self)
        }
        let (site, signer) = (try await Site(.fresh()), Signer())
        #expect(try await signed(site, signer) == "1")
        #expect(try await signed(site, signer) == "1")
        #expect(try await site.get() == "2")
        #expect(try await signed(site, signer) == "2", "What is told to everybody is told to it too.")
        #expect(signer.count.withLock { $0 } == 0)
        try await site.cache.removeAll()
        #expect(try await signed(site, signer) == "3")
        site.store.close()
        let again = try await Site(in: site.folder) { _, _ in .fresh() }
        #expect(again.cache.statistics.entries == 1)
        #expect(try await signed(again, signer) == "1" && again.count == 1)
    }

    @Test func twoPrincipalsShareNothing() async throws {
        let site = try await Site(.fresh())
        let (ann, bob) = (Principal("ann"), Principal("bob"))
        #expect(try await site.get("/", principal: ann) == "1")
        #expect(try await site.get("/", principal: bob) == "2")
        #expect(try await site.get("/") == "3")
        #expect(try await site.get("/", principal: ann) == "1")
        #expect(try await site.get("/", principal: bob) == "2")
        try await site.cache.removeEntries(of: [(ann, "https://a.example:443")])
        #expect(try await site.get("/", principal: ann) == "4")
        #expect(try await site.get("/", principal: bob) == "2")
        #expect(try await site.get("/") == "3")
    }

    /// The record itself names its principal: an index entry that points to another record is not used.
    @Test func anEntryOfAnotherPrincipalIsNotServedByItsHash() async throws {
        let site = try await Site(.fresh())
        let (name, equivalent) = ("jos\u{e9}", "jose\u{301}")
        _ = try await site.get("/", principal: Principal(name))
        let slot = try #require(site.cache.state.withLock { $0.index.all.first })
        let url = try site.request().url
        let trust = TrustScopes.unnamed.scope(of: url, asksApp: false)
        func isServed(_ url: RequestURL, _ name: String, _ trust: TrustScope) -> Bool {
            site.cache.read(slot, of: url, Principal(name), under: trust) != nil
        }
        #expect(isServed(url, name, trust))
        #expect(!isServed(url, "bob", trust) && !isServed(url, equivalent, trust))
        #expect(!isServed(try RequestURL("https://a.example/b"), name, trust))
        #expect(!isServed(url, name, TrustScope(digest: trust.digest, asksApp: true)))
        #expect(!isServed(url, name, TrustScope(digest: [1])))
    }

    @Test func urlsDifferInSchemePortPathAndQueryAndNotInFragment() async throws {
        let site = try await Site(.fresh())
        let urls = [
            "https://a.example/", "http://a.example/", "https://a.example:444/", "https://b.example/",
            "https://a.example/b", "https://a.example/?a", "https://a.example/?b", "https://a.example/?",
        ]
        for (number, url) in urls.enumerated() { #expect(try await site.get(url) == "\(number + 1)", "\(url)") }
        for (number, url) in urls.enumerated() { #expect(try await site.get(url) == "\(number + 1)", "\(url)") }
        #expect(try await site.get("HTTPS://A.example:443/#x") == "1")
        #expect(try await site.get("https://%61.example./") == "1")
    }

    @Test(arguments: [0, 1, 1000, 65_536, 65_537, 262_000, 700_000, 1 << 20])
    func bodiesOfAllLengthsComeBackAsTheyWere(_ length: Int) async throws {
        let body = Payload.bytes(length)
        let site = try await Site(Answer(200, ["Cache-Control": "max-age=60"], body: body))
        for _ in 0..<3 {
            let response = try await site.response(to: site.request())
            #expect(try await response.body.collect(upTo: .mebibytes(2)) == body)
            await site.cache.settle()
        }
        #expect(site.count == 1)
    }

    @Test func tooLongAnswersAreNotStored() async throws {
        let body = Array(repeating: UInt8(1), count: (1 << 20) + 1)
        for fields in [
            ["Cache-Control": "max-age=60", "Content-Length": "\(body.count)"], ["Cache-Control": "max-age=60"],
        ] {
            var answer = Answer(200, body: body)
            answer.fields = fields.map { ($0.key, $0.value) }
            let site = try await Site(answer)
            _ = try await site.get()
            #expect(site.cache.statistics.entries == 0)
            site.cache.maxCacheFileSize = body.count
            _ = try await site.get()
            #expect(site.cache.statistics.entries == 1)
        }
    }
}
