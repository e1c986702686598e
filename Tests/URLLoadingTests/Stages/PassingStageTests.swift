import HTTPTypes
import SallyportBase
import SallyportCore
import SallyportLoading
import SallyportTransport
import Testing

@testable import SallyportURLLoading

/// The session's own stages around one that passes.
@Suite struct PassingStageTests {
    /// What a jar does: names the server to itself.
    private struct NamingServers: LoadStage {
        static let field = HTTPField.Name.custom("For")

        func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage {
            var naming = request
            naming.headerFields.append(HTTPField(name: Self.field, value: request.url.hostField))
            return .passes(as: naming)
        }

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            try await pass(request, by: passage(of: request, in: context), in: context, next: next)
        }
    }

    @Test func aStagesAdditionsForOneServerAreNotSentToTheNext() async throws {
        let pipeline = Pipeline(
            [RedirectStage(), DecodingStage(), NamingServers()],
            [.redirect(307, to: "https://b.example/"), .redirect(302, to: "https://a.example/2"), .text("done")])
        let response = try await pipeline.load(.get("https://a.example/1"))
        #expect(response.facts.hops.count == 3)
        #expect(
            pipeline.client.requests.map { $0.headerFields[values: NamingServers.field] }
                == [["a.example"], ["b.example"], ["a.example"]])
        #expect(
            pipeline.client.requests.allSatisfy { $0.headerFields[values: .acceptEncoding] == ["gzip, deflate"] },
            "offered once in each request")
    }

    @Test func aRedirectedAnswerIsDecodedOnce() async throws {
        let encoded = Deflater.compress(Array("text".utf8))
        let pipeline = Pipeline(
            [RedirectStage(), DecodingStage()],
            [.redirect(302, to: "/2"), StubAnswer(fields: [.contentEncoding: "gzip"], chunks: [encoded])])
        let response = try await pipeline.load(.get("https://a.example/1")).collected(upTo: .kibibytes(1))
        #expect(response.body == Array("text".utf8) && response.head.headerFields[.contentEncoding] == nil)
    }
}
