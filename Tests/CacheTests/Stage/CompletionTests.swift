import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportCache

/// RFC 9111 §3.3, §3.4: a response that breaks off is kept and completed.
@Suite(.timeLimit(.minutes(1))) struct CompletionTests {
    private static let whole = Array("0123456789abcdefghij".utf8)
    private static let lost = LoadError(.connectionLost, at: .response, "gone")

    /// A server that supports ranges and `If-Range`.
    private static func answer(_ request: LoadRequest, tag: String = "\"a\"", _ body: [UInt8] = CompletionTests.whole)
        -> Answer
    {
        var answer = Answer(
            200, ["Cache-Control": "max-age=60", "ETag": tag, "Content-Length": "\(body.count)"], body: body)
        let condition = request.headerFields[.ifRange]
        guard condition == nil || condition == tag,
            let range = ByteRange(request.headerFields)?.resolved(total: Int64(body.count))
        else { return answer }
        answer.status = 206
        answer.fields[2].1 = "\(range.count)"
        answer.fields.append(("Content-Range", range.text))
        answer.body = Array(body[Int(range.first)...Int(range.last)])
        return answer
    }

    /// Breaks off the first responses, each after the number of bytes given for it.
    private func site(
        breaking lengths: Int..., tag: @escaping @Sendable (Int) -> String = { _ in "\"a\"" },
        body: [UInt8] = CompletionTests.whole
    ) async throws -> Site {
        try await Site { request, number in
            var answer = Self.answer(request, tag: tag(number), body)
            if number <= lengths.count {
                answer.body = answer.body.map { Array($0.prefix(lengths[number - 1])) }
                answer.failure = Self.lost
            }
            return answer
        }
    }

    private func fails(_ site: Site, _ fields: KeyValuePairs<String, String> = [:]) async throws {
        await #expect(throws: LoadError(.connectionLost, "")) { try await site.get("/", fields) }
        await site.cache.settle()
    }

    private func entry(_ site: Site) throws -> StoredEntry? {
        site.cache.entries(of: try site.request().url).first
    }

    @Test func s3_3_whatBrokeOffIsCompleted() async throws {
        let site = try await site(breaking: 8)
        try await fails(site)
        #expect(try entry(site)?.range == "bytes 0-7/20")
        let (head, body) = try await site.load()
        #expect(head.status == .ok && Array(body.utf8) == Self.whole && head.headerFields[.contentLength] == "20")
        #expect(head.headerFields[.contentRange] == nil)
        let sent = try site.last.headerFields
        #expect(sent[.range] == "bytes=8-19" && sent[.ifRange] == "\"a\"")
        #expect(try await site.get() == "0123456789abcdefghij")
        #expect(try site.count == 2 && entry(site)?.range == nil)
    }

    @Test func aRestByAnotherKindOfRouteIsNotCombined() async throws {
        let site = try await Site { request, number in
            var answer = Self.answer(request)
            if number == 1 {
                answer.body = Array(Self.whole.prefix(8))
                answer.failure = Self.lost
            } else {
                answer.route = .relay
            }
            return answer
        }
        try await fails(site)
        #expect(try await site.get() == "0123456789abcdefghij")
        #expect(site.server.requests.map { $0.headerFields[.range] } == [nil, "bytes=8-19", nil])
    }

    @Test func theFactsSayThatItWasCompleted() async throws {
        let site = try await site(breaking: 8)
        try await fails(site)
        let response = try await site.response(to: site.request())
        #expect(response.facts.cache == .completed && response.facts.decision?.route == .direct)
        #expect(response.fieldsSentNow[.contentRange] == "bytes 8-19/20")
        #expect(try await response.body.collect(upTo: .kibibytes(1)) == Self.whole)
    }

    @Test func s3_3_aPartAnswersTheRangesThatItHas() async throws {
        let site = try await site(breaking: 8)
        try await fails(site)
        let (head, body) = try await site.load("/", ["Range": "bytes=2-7"])
        #expect(head.status == .partialContent && body == "234567" && site.count == 1)
        #expect(head.headerFields[.contentRange] == "bytes 2-7/20" && head.headerFields[.contentLength] == "6")
    }

    /// However often the response breaks off, no byte is sent twice.
    @Test func s3_3_theRestMayBreakOffToo() async throws {
        let site = try await site(breaking: 8, 5, 1)
        for _ in 0..<3 { try await fails(site) }
        #expect(try site.last.headerFields[.range] == "bytes=13-19" && entry(site)?.range == "bytes 0-13/20")
        #expect(try await site.get() == "0123456789abcdefghij")
        #expect(try site.last.headerFields[.range] == "bytes=14-19")
    }

    @Test(arguments: [70_000, 262_144, 600_000]) func longBodiesAreCompletedToo(_ length: Int) async throws {
        let body = Payload.bytes(900_000)
        let site = try await site(breaking: length, body: body)
        try await fails(site)
        #expect(try entry(site)?.range == "bytes 0-\(length - 1)/900000")
        for _ in 0..<2 {
            let response = try await site.response(to: site.request())
            #expect(try await response.body.collect(upTo: .mebibytes(1)) == body)
            await site.cache.settle()
        }
        #expect(try site.count == 2 && site.last.headerFields[.range] == "bytes=\(length)-899999")
    }

    /// The bytes before and after are stored, those in between are missing.
    @Test func aRangeIsCompletedAtBothEnds() async throws {
        let site = try await site()
        _ = try await site.get("/", ["Range": "bytes=0-4"])
        _ = try await site.get("/", ["Range": "bytes=10-14"])
        #expect(try entry(site)?.range == "bytes 0-4,10-14/20")
        let (head, body) = try await site.load("/", ["Range": "bytes=2-12"])
        #expect(body == "23456789abc" && head.headerFields[.contentRange] == "bytes 2-12/20")
        #expect(try site.last.headerFields[.range] == "bytes=5-9" && site.last.headerFields[.ifRange] == "\"a\"")
        #expect(try entry(site)?.range == "bytes 0-14/20" && site.count == 3)
        #expect(try await site.get("/", ["Range": "bytes=0-14"]) == "0123456789abcde" && site.count == 3)
    }

    /// The stored part belongs to an older response than the server's present one.
    @Test func s3_4_anAnswerThatChangedIsTakenWhole() async throws {
        let site = try await site(breaking: 8, tag: { $0 == 1 ? "\"a\"" : "\"b\"" })
        try await fails(site)
        let (head, body) = try await site.load()
        #expect(head.status == .ok && head.headerFields[.eTag] == "\"b\"" && Array(body.utf8) == Self.whole)
        #expect(try site.last.headerFields[.ifRange] == "\"a\"" && site.count == 2)
        _ = try await site.get()
        #expect(site.count == 2)
    }

    /// If a server ignores `If-Range`, or says that there is no such range, the whole is requested again.
    @Test(arguments: [206, 416, 304]) func s3_4_partsOfOtherAnswersAreNotUsed(_ status: Int) async throws {
        let site = try await Site { request, number in
            var answer = Self.answer(request, tag: number == 1 ? "\"a\"" : "\"b\"", Array(Self.whole.reversed()))
            if number == 1 {
                answer = Self.answer(request)
                answer.body = Array(Self.whole.prefix(8))
                answer.failure = Self.lost
            } else if number == 2 {
                answer = Answer(
                    status, ["ETag": "\"b\"", "Cache-Control": "max-age=60", "Content-Range": "bytes 8-19/20"],
                    body: Array("XXXXXXXXXXXX".utf8))
            }
            return answer
        }
        try await fails(site)
        #expect(try await site.get() == "jihgfedcba9876543210")
        #expect(try site.count == 3 && site.last.headerFields[.range] == nil && site.last.headerFields[.ifRange] == nil)
    }

    /// The server sends a range other than the requested one, of the same response.
    @Test(arguments: ["bytes 8-18/20", "bytes 7-19/20", "bytes 8-19/21", "bytes 8-19/*"])
    func aPartThatDoesNotFitIsNotUsed(_ range: String) async throws {
        let site = try await Site { request, number in
            var answer = Self.answer(request)
            if number == 1 {
                answer.body = Array(Self.whole.prefix(8))
                answer.failure = Self.lost
            } else if number == 2 {
                answer.fields[answer.fields.count - 1].1 = range
            }
            return answer
        }
        try await fails(site)
        #expect(try await site.get() == "0123456789abcdefghij")
        #expect(site.count == 3)
    }

    /// A rest that is shorter or longer than it says fails the load, and leaves the stored part unchanged.
    @Test(arguments: [3, 13]) func aRestOfAnotherLengthIsNoWhole(_ length: Int) async throws {
        let site = try await Site { request, number in
            var answer = Self.answer(request)
            if number == 1 {
                answer.body = Array(Self.whole.prefix(8))
                answer.failure = Self.lost
            } else if number == 2 {
                answer.body = Array(repeating: 88, count: length)
            }
            return answer
        }
        try await fails(site)
        await #expect(throws: LoadError(.protocolViolation, "")) { try await site.get() }
        await site.cache.settle()
        #expect(try entry(site)?.range == "bytes 0-7/20")
        #expect(try await site.get() == "0123456789abcdefghij")
    }

    /// A part without a strong validator, or of unknown total length, is not kept.
    @Test(arguments: [
        [("ETag", "W/\"a\""), ("Content-Length", "20")], [("Last-Modified", "x"), ("Content-Length", "20")],
        [("ETag", "\"a\"")], [("ETag", "\"a\""), ("Content-Length", "7")],
        [("ETag", "\"a\""), ("Content-Length", "x")],
    ])
    func partsThatCannotBeCompletedAreNotStored(_ fields: [(String, String)]) async throws {
        var answer = Answer(200, ["Cache-Control": "max-age=60"], body: Array(Self.whole.prefix(8)))
        answer.fields += fields
        answer.failure = Self.lost
        let site = try await Site(answer)
        try await fails(site)
        #expect(site.cache.statistics.entries == 0)
    }

    /// Only a connection that ended leaves bytes that the server sent; after a body that could not be read, they may be
    /// anything.
    @Test func bodiesWithOtherFailuresAreNotStored() async throws {
        var answer = Answer(
            200, ["Cache-Control": "max-age=60", "ETag": "\"a\"", "Content-Length": "20"],
            body: Array(Self.whole.prefix(8)))
        answer.failure = LoadError(.protocolViolation, at: .response, "nonsense")
        let site = try await Site(answer)
        await #expect(throws: LoadError(.protocolViolation, "")) { try await site.get() }
        await site.cache.settle()
        #expect(site.cache.statistics.entries == 0)
    }

    @Test func aPartIsNoAnswerWhereNothingMayBeSent() async throws {
        let site = try await site(breaking: 8)
        try await fails(site)
        await #expect(throws: LoadError(.notInCache, "")) {
            try await site.get("/", policy: .returnCacheDataDontLoad)
        }
        let status = try await site.load("/", ["Cache-Control": "only-if-cached"]).head.status
        #expect(status == .gatewayTimeout && site.count == 1)
        #expect(try await site.get("/", ["Range": "bytes=0-3"], policy: .returnCacheDataDontLoad) == "0123")
    }

    @Test func equalLoadsAreCompletedByOne() async throws {
        let site = try await Site { request, number in
            var answer = Self.answer(request)
            if number == 1 {
                answer.body = answer.body.map { Array($0.prefix(8)) }
                answer.failure = Self.lost
            } else {
                // Long enough for all of them to arrive meanwhile.
                try? await Task.sleep(for: .milliseconds(100))
            }
            return answer
        }
        try await fails(site)
        let bodies = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 { group.addTask { try await site.get() } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(bodies == ["0123456789abcdefghij"] && site.count == 2)
    }

    /// If the app's own trust decision made the connection, the rest is for this load only.
    @Test func aRestForOneLoadCompletesNothingStored() async throws {
        let site = try await Site { request, number in
            var answer = Self.answer(request)
            if number == 1 {
                answer.body = Array(Self.whole.prefix(8))
                answer.failure = Self.lost
            }
            answer.isForThisLoadOnly = number == 2
            return answer
        }
        try await fails(site)
        #expect(try await site.get() == "0123456789abcdefghij")
        #expect(try entry(site)?.range == "bytes 0-7/20")
    }

    /// A longer part is not replaced by a shorter one.
    @Test func aShorterStartDoesNotReplaceALongerOne() async throws {
        let body = Payload.bytes(900_000)
        let site = try await site(breaking: 600_000, 300_000, body: body)
        try await fails(site)
        await #expect(throws: LoadError.self) { try await site.get("/", policy: .reloadIgnoringLocalCacheData) }
        await site.cache.settle()
        #expect(try entry(site)?.range == "bytes 0-599999/900000")
    }
}
