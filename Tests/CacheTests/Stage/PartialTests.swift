import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import TestSupport
import Testing

@testable import SallyportCache

/// RFC 9111 §3.3, §3.4 and §4, RFC 9110 §14: parts.
@Suite(.timeLimit(.minutes(1))) struct PartialTests {
    private static let whole = Array("0123456789abcdefghij".utf8)

    /// A server that knows ranges.
    private func site(tag: String? = "\"a\"") async throws -> Site {
        try await Site { request, _ in
            var answer = Answer(200, ["Cache-Control": "max-age=60"], body: Self.whole)
            if let tag { answer.fields.append(("ETag", tag)) }
            let range = ByteRange(request.headerFields).flatMap { $0.resolved(total: Int64(Self.whole.count)) }
            guard let range else { return answer }
            answer.status = 206
            answer.fields.append(("Content-Range", range.text))
            answer.body = Array(Self.whole[Int(range.first)...Int(range.last)])
            return answer
        }
    }

    @Test func s4_rangesAreAnsweredFromAWhole() async throws {
        let site = try await site()
        _ = try await site.get()
        let (head, body) = try await site.load("/", ["Range": "bytes=2-4"])
        #expect(head.status == .partialContent && body == "234")
        #expect(head.headerFields[.contentRange] == "bytes 2-4/20" && head.headerFields[.contentLength] == "3")
        #expect(try await site.get("/", ["Range": "bytes=-3"]) == "hij")
        #expect(try await site.get("/", ["Range": "bytes=15-"]) == "fghij")
        #expect(site.count == 1)
        #expect(try await site.load("/", ["Range": "bytes=2-4"], method: .head).head.status == .ok)
        #expect(site.count == 1, "A HEAD has no range.")
    }

    @Test func s4_longBodiesAreCutToo() async throws {
        let body = Payload.bytes(600_000)
        let site = try await Site(Answer(200, ["Cache-Control": "max-age=60", "ETag": "\"a\""], body: body))
        _ = try await site.get()
        let response = try await site.response(to: site.request("/", ["Range": "bytes=70000-400000"]))
        #expect(try await response.body.collect(upTo: .mebibytes(1)) == Array(body[70_000...400_000]))
        #expect(site.count == 1)
    }

    @Test(arguments: ["bytes=0-1,3-4", "bytes=30-", "lines=1-2", "bytes=x"])
    func requestsWithUnsupportedRangesGoToTheServer(_ range: String) async throws {
        let site = try await site()
        _ = try await site.get()
        _ = try await site.get("/", ["Range": range])
        #expect(site.count == 2)
        #expect(try await site.get() == "0123456789abcdefghij")
    }

    @Test func ifRangeDecides() async throws {
        let site = try await site()
        _ = try await site.get()
        #expect(try await site.get("/", ["Range": "bytes=0-1", "If-Range": "\"a\""]) == "01")
        #expect(try await site.load("/", ["Range": "bytes=0-1", "If-Range": "\"b\""]).head.status == .ok)
        #expect(try await site.load("/", ["Range": "bytes=0-1", "If-Range": "W/\"a\""]).head.status == .ok)
        #expect(try await site.load("/", ["Range": "bytes=0-1", "If-Range": "yesterday"]).head.status == .ok)
        #expect(site.count == 1)
    }

    @Test func s3_3_partsAreStoredAndAnswerParts() async throws {
        let site = try await site()
        #expect(try await site.get("/", ["Range": "bytes=5-9"]) == "56789")
        #expect(site.cache.statistics.entries == 1)
        #expect(try await site.get("/", ["Range": "bytes=6-7"]) == "67")
        #expect(site.count == 1)
        #expect(try await site.get("/", ["Range": "bytes=4-7"]) == "4567")
        #expect(try site.count == 2 && site.last.headerFields[.range] == "bytes=4-4", "What is there is not sent.")
        #expect(try await site.load("/").head.status == .ok)
        #expect(site.count == 3, "A part is no answer where the whole is wanted.")
    }

    @Test func s3_4_partsAreCombined() async throws {
        let site = try await site()
        _ = try await site.get("/", ["Range": "bytes=0-4"])
        _ = try await site.get("/", ["Range": "bytes=5-11"])
        #expect(try await site.get("/", ["Range": "bytes=2-8"]) == "2345678")
        #expect(site.count == 2 && site.cache.statistics.entries == 1)
        _ = try await site.get("/", ["Range": "bytes=10-"])
        let (head, body) = try await site.load()
        #expect(site.count == 3 && head.status == .ok && body == "0123456789abcdefghij")
        #expect(head.headerFields[.contentRange] == nil && head.headerFields[.contentLength] == "20")
    }

    @Test func s3_4_partsOfDifferentAnswersAreNotCombined() async throws {
        let site = try await Site { request, number in
            let range = ByteRange(request.headerFields)!.resolved(total: 20)!
            return Answer(
                206, ["Cache-Control": "max-age=60", "ETag": "\"\(number)\"", "Content-Range": range.text],
                body: Array(Self.whole[Int(range.first)...Int(range.last)]))
        }
        _ = try await site.get("/", ["Range": "bytes=0-9"])
        _ = try await site.get("/", ["Range": "bytes=10-19"])
        _ = try await site.get("/", ["Range": "bytes=0-9"])
        #expect(site.count == 3)
    }

    @Test(arguments: [nil, "W/\"a\"", "a", "\"a\"b\""])
    func s3_4_partsWithoutAStrongValidatorAreNotStored(_ tag: String?) async throws {
        let site = try await site(tag: tag)
        _ = try await site.get("/", ["Range": "bytes=0-9"])
        #expect(site.cache.statistics.entries == 0)
    }

    /// A part never takes the place of the whole that it is of.
    @Test func aPartDoesNotReplaceItsWhole() async throws {
        let site = try await site()
        _ = try await site.get()
        _ = try await site.get("/", ["Range": "bytes=0-3"], policy: .reloadIgnoringLocalCacheData)
        #expect(try await site.get() == "0123456789abcdefghij")
        #expect(site.count == 2)
    }

    /// A length that lies about the part.
    @Test func aPartOfAnotherLengthIsNotStored() async throws {
        let site = try await Site(
            Answer(
                206, ["Cache-Control": "max-age=60", "ETag": "\"a\"", "Content-Range": "bytes 0-9/20"],
                body: Array("012".utf8)))
        _ = try await site.get("/", ["Range": "bytes=0-9"])
        #expect(site.cache.statistics.entries == 0)
    }
}
