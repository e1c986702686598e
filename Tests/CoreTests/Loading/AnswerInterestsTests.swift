import HTTPTypes
import SallyportCore
import Testing

@testable import SallyportLoading

@Suite struct AnswerInterestsTests {
    private func interests(
        _ status: Int, _ fields: HTTPFields = [:], sentNow: HTTPFields? = nil,
        among wanted: AnswerInterests = AnswerInterests(rawValue: .max)
    ) throws -> AnswerInterests {
        var response = LoadResponse(
            head: HTTPResponse(status: .init(code: status), headerFields: fields),
            url: try RequestURL("https://a.example/"), body: ResponseBody())
        response.facts.sentNow = sentNow
        return AnswerInterests(of: response, among: wanted)
    }

    @Test(
        arguments: [
            (200, []), (301, .redirects), (302, .redirects), (303, .redirects), (304, []), (305, []), (307, .redirects),
            (308, .redirects), (400, .clientErrors), (401, [.unauthorized, .clientErrors]), (407, .clientErrors),
            (499, .clientErrors), (500, .serverErrors), (599, .serverErrors), (600, []),
        ] as [(Int, AnswerInterests)])
    func statuses(_ status: Int, _ expected: AnswerInterests) throws {
        #expect(try interests(status) == expected.union(.every))
    }

    @Test func onlyWhatIsWantedIsFound() throws {
        #expect(try interests(401, [.setCookie: "a=1"], among: [.unauthorized, .codings]) == .unauthorized)
        #expect(try interests(200, [.setCookie: "a=1"], among: .redirects) == [])
        #expect(try interests(200, among: []) == [])
    }

    @Test func fieldsAreFoundInAnySpelling() throws {
        let fields: HTTPFields = [
            HTTPField.Name("SET-COOKIE") ?? .via: "a=1", HTTPField.Name("content-encoding") ?? .via: "gzip",
        ]
        #expect(try interests(200, fields) == [.every, .cookies, .codings])
        // As long as those that count.
        let others: HTTPFields = [.age: "1", .date: "x", .trailer: "x", .connection: "x", .contentRange: "x"]
        #expect(try interests(200, others) == .every)
    }

    @Test func cookiesAreThoseThatTheServerSentNow() throws {
        #expect(try interests(200, [.setCookie: "a=1"], sentNow: [:]) == .every)
        #expect(try interests(200, [:], sentNow: [.setCookie: "a=1"]) == [.every, .cookies])
    }

    @Test(
        arguments: [
            ([.eTag: "\"1\""], true), ([.lastModified: "x"], true), ([.expires: "0"], true),
            ([.cacheControl: "x"], true),
            ([:], false), ([.cacheControl: "no-store"], false), ([.cacheControl: "private, No-Store"], false),
            ([.eTag: "\"1\"", .cacheControl: "no-store"], false), ([.cacheControl: "no-store, must-understand"], true),
            ([.cacheControl: "x=\"a, no-store\""], true),
        ] as [(HTTPFields, Bool)])
    func answersThatACacheMightStore(_ fields: HTTPFields, _ isStorable: Bool) throws {
        #expect(try interests(200, fields).contains(.storable) == isStorable)
        #expect(try !interests(304, fields).contains(.storable))
    }
}
