import HTTPTypes
import SallyportLoading
import Testing

@testable import SallyportURLLoading

/// What can be gone on with, and what an answer to the question for the rest is. No I/O.
@Suite struct ResumptionTests {
    private let request: LoadRequest
    private static let dates: HTTPFields = [
        .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT", .date: "Sun, 06 Nov 1994 08:50:37 GMT",
    ]

    init() throws { request = try .get("https://a.example/file?key=secret") }

    private func record(_ fields: HTTPFields, _ status: HTTPResponse.Status = .ok) -> Resumption? {
        Resumption(of: request, answered: HTTPResponse(status: status, headerFields: fields))
    }

    @Test func aStrongTagIsAValidatorAndAWeakOneIsNot() {
        #expect(record([.eTag: "\"a\""])?.validator == "\"a\"")
        #expect(record([.eTag: "W/\"a\""]) == nil)
        var both = Self.dates
        both[.eTag] = "W/\"a\""
        #expect(record(both) == nil, "a server that says weak means it")
    }

    /// RFC 9110 §8.8.2.2.
    @Test func aTimeOfModificationIsOneWhereTheAnswerCameAMinuteLater() {
        #expect(record(Self.dates)?.validator == Self.dates[.lastModified])
        var near = Self.dates
        near[.date] = "Sun, 06 Nov 1994 08:50:36 GMT"
        #expect(record(near) == nil)
        #expect(record([.lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"]) == nil)
    }

    @Test func otherAnswersCannotBeGoneOnWith() {
        #expect(record([.eTag: "\"a\""], .partialContent) == nil)
        #expect(record([.eTag: "\"a\"", .contentEncoding: "gzip"]) == nil)
        #expect(record([.eTag: "\"a\"", .acceptRanges: "none"]) == nil)
        #expect(record([:]) == nil)
    }

    @Test func itIsOfItsRequestAndTellsNoQuery() throws {
        let resumption = try #require(record([.eTag: "\"a\""]))
        #expect(resumption.isOf(request))
        #expect(try !resumption.isOf(.get("https://a.example/file?key=other")))
        #expect(try !resumption.isOf(.get("https://b.example/file?key=secret")))
        #expect(!"\(resumption)".contains("secret"))
    }

    @Test(
        arguments: [
            (206, "bytes 5-9/10", nil, Resumption.Answer.part(upTo: 10)), (206, "bytes 5-9/*", nil, .part(upTo: 10)),
            (206, "bytes 5-7/10", nil, .part(upTo: 8)), (206, "bytes 5-7/*", nil, .part(upTo: 8)),
            (206, "bytes 5-10/*", nil, .useless),
            (206, "bytes 5-9/10", "\"a\"", .part(upTo: 10)), (206, "bytes 5-9/10", "\"b\"", .useless),
            (206, "bytes 4-9/10", nil, .useless), (206, "bytes 6-9/10", nil, .useless),
            (206, "bytes 5-9/11", nil, .useless), (206, nil, nil, .useless), (206, "lines 5-9/10", nil, .useless),
            (200, nil, nil, .whole), (416, "bytes */10", nil, .useless), (416, nil, nil, .useless),
            (404, nil, nil, .other), (401, nil, nil, .other), (500, nil, nil, .other),
        ] as [(Int, String?, String?, Resumption.Answer)])
    func answersAreClassified(_ status: Int, _ range: String?, _ tag: String?, _ expected: Resumption.Answer) throws {
        var resumption = try #require(record([.eTag: "\"a\"", .contentLength: "10"]))
        resumption.length = 5
        var fields = HTTPFields()
        fields[.contentRange] = range
        fields[.eTag] = tag
        #expect(resumption.take(HTTPResponse(status: .init(code: status), headerFields: fields)) == expected)
    }

    @Test(
        arguments: [("5", .part(upTo: 10)), ("4", .useless), ("6", .useless), ("\(Int64.max)", .useless)]
            as [(String, Resumption.Answer)])
    func aRestIsAsLongAsItsRange(_ length: String, _ expected: Resumption.Answer) throws {
        for range in ["bytes 5-9/10", "bytes 5-9/*"] {
            var resumption = try #require(record([.eTag: "\"a\""]))
            resumption.length = 5
            let fields: HTTPFields = [.contentRange: range, .contentLength: length]
            #expect(resumption.take(HTTPResponse(status: .partialContent, headerFields: fields)) == expected)
        }
    }

    @Test func nothingIsMissingWhereAllIsThere() throws {
        var resumption = try #require(record([.eTag: "\"a\"", .contentLength: "10"]))
        resumption.length = 10
        let head = HTTPResponse(status: .rangeNotSatisfiable, headerFields: [.contentRange: "bytes */10"])
        #expect(resumption.take(head) == .nothing)
        let other: HTTPFields = [.contentRange: "bytes */10", .eTag: "\"b\""]
        #expect(resumption.take(HTTPResponse(status: .rangeNotSatisfiable, headerFields: other)) == .useless)
    }

    @Test(
        arguments: [
            "", "bytes", "bytes 1-2", "bytes 2-1/3", "bytes 1-3/3", "bytes -1/3", "bytes 1-/3", "bytes a-b/c",
            "bytes */*", "bytes 1-2/-3", "bytes 1-2/3/4", "bytes 1-2-3/4", "bytes 99999999999999999999-1/2",
        ])
    func invalidRangesAreRefused(_ text: String) { #expect(ContentRange(text) == nil) }

    @Test(
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ] as [(String, Int64)])
    func datesAreRead(_ text: String, _ seconds: Int64) { #expect(FixedDate.seconds(text) == seconds) }

    @Test(
        arguments: [
            "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
        ])
    func otherDatesAreNot(_ text: String) { #expect(FixedDate.seconds(text) == nil) }
}
