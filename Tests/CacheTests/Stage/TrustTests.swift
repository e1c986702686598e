import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportSecureStore
import TestSupport
import Testing

@testable import SallyportCache

/// A session's trust settings and client certificate are a part of the key under which responses are stored.
@Suite(.timeLimit(.minutes(1))) struct TrustTests {
    private let usual = TrustScopes(standard: [1])
    private let other = TrustScopes(standard: [2])

    @Test func anEntryServesOnlyTheTrustItWasHadUnder() async throws {
        let site = try await Site(.fresh())
        #expect(try await site.get("/", trust: usual) == "1")
        #expect(try await site.get("/", trust: other) == "2")
        #expect(try await site.get("/", trust: usual) == "1")
        #expect(try await site.get("/", trust: other) == "2")
        #expect(site.count == 2 && site.cache.statistics.entries == 2)
        site.store.close()
        let again = try await Site(in: site.folder) { _, _ in .fresh() }
        #expect(try await again.get("/", trust: other) == "2", "After a restart too.")
        #expect(try await again.get("/", trust: TrustScopes(standard: [3])) == "1")
    }

    /// For a host with a pin or a certificate of its own, responses are stored apart from those of other sessions.
    @Test func hostsWithSettingsOfTheirOwnAreApart() async throws {
        let site = try await Site(.fresh())
        let pinned = TrustScopes(standard: [1], own: [try Host("a.example"): [9]])
        #expect(try await site.get("/", trust: usual) == "1")
        #expect(try await site.get("/", trust: pinned) == "2")
        #expect(try await site.get("https://b.example/", trust: usual) == "3")
        #expect(try await site.get("https://b.example/", trust: pinned) == "3")
    }

    @Test func plainHTTPIsTheSameForAllSessions() async throws {
        let site = try await Site(.fresh())
        #expect(try await site.get("http://a.example/", trust: usual) == "1")
        #expect(try await site.get("http://a.example/", trust: other) == "1")
    }

    /// A load must not wait for, and share, the response to a load with other trust settings.
    @Test func equalLoadsUnderOtherTrustDoNotWaitForEachOther() async throws {
        let both = Lock(0)
        let site = try await Site { _, _ in
            both.withLock { $0 += 1 }
            _ = try? await eventually(within: .seconds(20)) { both.withLock { $0 } == 2 }
            return .fresh()
        }
        async let one = site.get("/", trust: usual)
        async let two = site.get("/", trust: other)
        let bodies = try await [one, two]
        #expect(Set(bodies) == ["1", "2"] && site.count == 2)
    }

    /// A response that the app's own trust decision allowed is for that load only.
    @Test func anAnswerForOneLoadIsNotStored() async throws {
        let site = try await Site { _, _ in
            var answer = Answer(200, ["Cache-Control": "max-age=60", "ETag": "\"a\""])
            answer.isForThisLoadOnly = true
            return answer
        }
        for number in 1...3 { #expect(try await site.get() == "\(number)") }
        #expect(site.cache.statistics.entries == 0)
    }

    /// Nor does it make a stored response fresh, or replace it.
    @Test(arguments: [304, 200]) func anAnswerForOneLoadChangesNothingStored(_ status: Int) async throws {
        let site = try await Site { _, number in
            guard number == 2 else { return Answer(200, ["Cache-Control": "max-age=10", "ETag": "\"a\"", "X-A": "1"]) }
            var answer = Answer(status, ["Cache-Control": "max-age=1000", "ETag": "\"a\"", "X-A": "2"])
            answer.isForThisLoadOnly = true
            return answer
        }
        _ = try await site.get()
        let before = site.cache.entries(of: try site.request().url).map(\.fields)
        site.clock.pass(20)
        let asked = try await site.load()
        #expect(asked.head.headerFields[.custom("X-A")] == "2" && asked.body == (status == 304 ? "1" : "2"))
        #expect(site.cache.entries(of: try site.request().url).map(\.fields) == before && !before.isEmpty)
        _ = try await site.get()
        #expect(site.count == 3, "It is as old as it was.")
    }

    /// When credentials are cleared, the responses received with them are removed, whatever the trust settings.
    @Test func clearingCredentialsRemovesWhatIsStoredUnderAnyTrust() async throws {
        let site = try await Site(.fresh())
        for trust in [usual, other] { _ = try await site.get("/", trust: trust) }
        try await site.cache.removeEntries(of: [(.instance, "https://a.example:443")])
        #expect(site.cache.statistics.entries == 0)
    }

    /// Revalidation in the background (RFC 5861 §3) is only for loads without a delegate: no app can be asked there.
    @Test func withADelegateTheServerIsAskedFirst() async throws {
        struct Judge: ChallengeResponder {
            func respond(to challenge: AuthenticationChallenge) async -> ChallengeDisposition { .notImplemented }
        }
        let site = try await Site(
            Answer(200, ["Cache-Control": "max-age=10, stale-while-revalidate=100", "ETag": "\"a\""]))
        func get() async throws -> String {
            let context = LoadContext(
                requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(20), idleTimeout: .seconds(20),
                principal: .instance, responder: Judge())
            let chain = LoadChain([CacheStage(cache: site.cache, gate: site.gate), site.server])
            let body = try await chain.load(site.request(), in: context).body.collect(upTo: .kibibytes(1))
            await site.cache.settle()
            return String(decoding: body, as: UTF8.self)
        }
        #expect(try await get() == "1")
        site.clock.pass(20)
        #expect(try await get() == "2", "The server was asked before the app got an answer.")
    }
}
