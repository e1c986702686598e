import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import Testing

@testable import SallyportCache

/// The policy has changed between the look at what is stored and the request: the answer comes by another kind of route,
/// and perhaps from another server of the same name.
@Suite(.timeLimit(.minutes(1))) struct OtherRouteTests {
    private static let fields: KeyValuePairs = ["Cache-Control": "max-age=60", "ETag": "\"a\""]

    /// Answers the first request directly, and the others by the relay: a request that asks about the entry as `other`
    /// says, one that does not with a body.
    private func site(_ other: Answer) async throws -> Site {
        try await Site { request, number in
            guard number > 1 else { return Answer(200, Self.fields) }
            let asks = request.headerFields.contains(.ifNoneMatch) || request.method == .head
            var answer = asks ? other : Answer(200, Self.fields)
            answer.route = .relay
            return answer
        }
    }

    @Test func aNotModifiedByAnotherKindOfRouteConfirmsNothing() async throws {
        let site = try await site(Answer(304, Self.fields))
        #expect(try await site.get() == "1")
        site.clock.pass(100)
        #expect(try await site.get() == "3", "The request is sent again, without a condition.")
    }

    @Test func anAnswerToTheAppsConditionByAnotherKindOfRouteFreshensNothing() async throws {
        let site = try await site(Answer(304, Self.fields))
        _ = try await site.get()
        site.clock.pass(100)
        #expect(try await site.load("/", ["If-None-Match": "\"a\""]).head.status == .notModified)
        _ = try await site.get()
        #expect(site.count > 2, "The entry is as stale as before.")
    }

    @Test func aHeadByAnotherKindOfRouteDropsNothing() async throws {
        let site = try await site(Answer(200, ["ETag": "\"b\""]))
        _ = try await site.get()
        _ = try await site.load(method: .head, policy: .reloadIgnoringLocalCacheData)
        #expect(site.count == 2)
        #expect(try await site.get() == "1")
        #expect(site.count == 2, "The entry is still there.")
    }

    @Test func anotherAnswerByAnotherKindOfRouteLeavesTheEntry() async throws {
        let site = try await site(Answer(404, ["Cache-Control": "no-store"]))
        _ = try await site.get()
        site.clock.pass(100)
        #expect(try await site.load().head.status == .notFound)
        #expect(try await site.get("/", ["Cache-Control": "only-if-cached, max-stale=1000"]) == "1")
    }

    @Test func aFailureByAnotherKindOfRouteIsNotHiddenByTheEntry() async throws {
        let site = try await Site { _, number in
            guard number > 1 else { return Answer(200, ["Cache-Control": "max-age=60, stale-if-error=600"]) }
            var answer = Answer(503)
            answer.route = .relay
            return answer
        }
        _ = try await site.get()
        site.clock.pass(80)
        #expect(try await site.load().head.status == .serviceUnavailable)
    }
}
