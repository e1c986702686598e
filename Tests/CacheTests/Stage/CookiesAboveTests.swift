import HTTPTypes
import Logging
import SallyportCookies
import SallyportCore
import Testing

@testable import SallyportCache

/// The cache below the jar: what is stored sets no cookie again, and what would be sent is what `Vary: Cookie` sees.
@Suite(.timeLimit(.minutes(1))) struct CookiesAboveTests {
    private struct Both {
        let site: Site
        let jars: CookieJars

        init(_ answer: Answer) async throws {
            site = try await Site(answer)
            jars = CookieJars(in: site.store, gate: site.gate, logger: Logger(label: "test"))
        }

        func get(_ path: String = "/", principal: Principal = .instance) async throws -> HTTPResponse {
            let cookies = jars.stages(of: .instance, acceptPolicy: .always, handlesCookies: true)
            let stages = cookies + [CacheStage(cache: site.cache, gate: site.gate), site.server]
            let response = try await LoadChain(stages).load(site.request(path), in: .of(principal))
            _ = try await response.body.collect(upTo: .megabytes(1))
            await site.cache.settle()
            return response.head
        }
    }

    @Test func aStoredAnswerSetsNoCookieAgain() async throws {
        let both = try await Both(Answer(200, ["Cache-Control": "max-age=60", "Set-Cookie": "a=1; Path=/"]))
        #expect(try await both.get().headerFields[.setCookie] != nil)
        #expect(try await both.get().headerFields[.setCookie] == nil)
        #expect(both.site.count == 1)
        _ = try await both.get("/other")
        #expect(try both.site.last.headerFields[.cookie] == "a=1", "The live answer did.")
    }

    @Test func varyCookieSeesWhatWouldBeSent() async throws {
        let both = try await Both(Answer(200, ["Cache-Control": "max-age=60", "Vary": "Cookie"]))
        _ = try await both.get()
        _ = try await both.get()
        #expect(both.site.count == 1)
        let setting = try await Both(
            Answer(200, ["Cache-Control": "max-age=60", "Vary": "Cookie", "Set-Cookie": "a=1; Path=/"]))
        for _ in 0..<4 { _ = try await setting.get() }
        #expect(setting.site.count == 2, "Once without the cookie and once with it.")
    }
}
