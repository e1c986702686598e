import HTTPTypes
import Logging
import SallyportBase
import SallyportCore
import Testing

@testable import SallyportLoading

/// Which stages of a chain run, which see an answer, in which order, and with which request.
@Suite struct LoadChainTests {
    /// What happened in a chain, in order.
    final class Trace: Sendable {
        private let lines = Lock<[String]>([])
        func note(_ line: String) { lines.withLock { $0.append(line) } }
        var all: [String] { lines.withLock { $0 } }
    }

    /// Passes requests, and adds a field of its own name to them.
    struct Passing: LoadStage {
        let name: String
        let trace: Trace
        var interests: AnswerInterests = []
        /// How often an answer of interest makes it send the request again.
        var tries = 0

        func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage {
            trace.note("\(name) sees \(request.names)")
            return .passes(watching: interests, as: request.naming(name), note: name)
        }

        func answered(
            _ response: LoadResponse, to request: LoadRequest, after passage: LoadPassage, in context: LoadContext,
            next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            trace.note("\(name) gets \(response.head.status.code) to \(request.names)")
            guard tries > 0, passage.note as? String == name else { return response }
            return try await next.load(request.naming("\(name) again"), in: context)
        }

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            trace.note("\(name) runs")
            return try await pass(request, by: passage(of: request, in: context), in: context, next: next)
        }
    }

    /// A stage as apps wrote them before there were passages.
    struct Running: LoadStage {
        let name: String
        let trace: Trace

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            trace.note("\(name) runs with \(request.names)")
            let response = try await next.load(request.naming(name), in: context)
            trace.note("\(name) has \(response.head.status.code)")
            return response
        }
    }

    /// Notes what it hears of answers that do not come up to it, and adds its name to the request for the next time.
    struct Hearing: SentFieldsStage {
        let name: String
        let trace: Trace

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            try await next.load(request.naming(name), in: context)
        }

        func heard(
            _ fields: HTTPFields, answering request: LoadRequest, in context: LoadContext
        ) async -> LoadRequest {
            trace.note("\(name) hears \(fields[.server] ?? "-") to \(request.names)")
            return request.naming("\(name)2")
        }
    }

    /// Tells the stages above what a server has sent it, and sends the request as they return it.
    struct Telling: LoadStage {
        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            let again = await next.tellAbove([.server: "x"], answering: request, in: context)
            return try await next.load(again, in: context)
        }
    }

    /// Answers from a list, the last one again and again.
    struct Server: LoadStage {
        let trace: Trace
        let answers: Lock<[HTTPResponse]>
        var facts = LoadFacts()

        init(_ trace: Trace, _ answers: [HTTPResponse]) {
            self.trace = trace
            self.answers = Lock(answers.reversed())
        }

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            trace.note("server gets \(request.names)")
            let head = answers.withLock { $0.count > 1 ? $0.removeLast() : $0[0] }
            return LoadResponse(head: head, url: request.url, body: ResponseBody(), facts: facts)
        }
    }

    private let trace = Trace()
    private static let context = LoadContext(
        requestID: 1, logger: Logger(label: "test"), deadline: .now + .seconds(60), idleTimeout: .seconds(60),
        principal: .instance)

    private func load(_ stages: [any LoadStage]) async throws -> LoadResponse {
        try await LoadChain(stages).load(.get("https://a.example/"), in: Self.context)
    }

    private func server(_ statuses: Int...) -> Server {
        Server(trace, statuses.map { HTTPResponse(status: .init(code: $0)) })
    }

    // MARK: Passing

    @Test func aStageThatPassesDoesNotRun() async throws {
        let stages: [any LoadStage] = [
            Passing(name: "a", trace: trace), Passing(name: "b", trace: trace, interests: .redirects), server(200),
        ]
        #expect(try await load(stages).head.status == .ok)
        #expect(trace.all == ["a sees -", "b sees a", "server gets a b"])
    }

    @Test func aStageThatSaysNothingRunsForEachRequest() async throws {
        #expect(try await load([Running(name: "own", trace: trace), server(404)]).head.status == .notFound)
        #expect(trace.all == ["own runs with -", "server gets own", "own has 404"])
    }

    @Test func stagesKeepTheirOrderAroundOneThatRuns() async throws {
        let stages: [any LoadStage] = [
            Passing(name: "a", trace: trace, interests: .serverErrors), Running(name: "b", trace: trace),
            Passing(name: "c", trace: trace, interests: .serverErrors), server(500),
        ]
        #expect(try await load(stages).head.status == .internalServerError)
        #expect(
            trace.all == [
                "a sees -", "b runs with a", "c sees a b", "server gets a b c", "c gets 500 to a b", "b has 500",
                "a gets 500 to -",
            ])
    }

    @Test func aChainThatAllStagesPassHasNoAnswer() async throws {
        await #expect(throws: LoadError(.internalFailure, "")) {
            _ = try await load([Passing(name: "a", trace: trace)])
        }
    }

    @Test func theStagesAboveHearOfAnAnswerThatDoesNotComeUp() async throws {
        let stages: [any LoadStage] = [
            Hearing(name: "a", trace: trace), Passing(name: "b", trace: trace), Hearing(name: "c", trace: trace),
            Telling(), Hearing(name: "d", trace: trace), server(200),
        ]
        _ = try await load(stages)
        #expect(
            trace.all == ["b sees a", "c hears x to a b c", "a hears x to a b c c2", "server gets a b c c2 a2 d"])
    }

    // MARK: Answers

    @Test func anAnswerGoesToThoseThatWantItFromTheBottomUp() async throws {
        let stages: [any LoadStage] = [
            Passing(name: "a", trace: trace, interests: .clientErrors),
            Passing(name: "b", trace: trace, interests: .redirects),
            Passing(name: "c", trace: trace, interests: [.unauthorized, .codings]), server(401),
        ]
        _ = try await load(stages)
        #expect(trace.all.suffix(2) == ["c gets 401 to a b", "a gets 401 to -"])
    }

    @Test func aStageSeesTheRequestAsItCameToIt() async throws {
        let stages: [any LoadStage] = [
            Passing(name: "redirects", trace: trace, interests: .redirects), Passing(name: "cookies", trace: trace),
            server(302),
        ]
        _ = try await load(stages)
        #expect(trace.all.last == "redirects gets 302 to -", "what was added for this server stays with it")
    }

    @Test func eachStageDecidesOnTheAnswerOfThoseBelowIt() async throws {
        let stages: [any LoadStage] = [
            Passing(name: "a", trace: trace, interests: .unauthorized),
            Passing(name: "b", trace: trace, interests: .unauthorized, tries: 1),
            Passing(name: "c", trace: trace, interests: .every), server(401, 200),
        ]
        #expect(try await load(stages).head.status == .ok)
        #expect(
            trace.all == [
                "a sees -", "b sees a", "c sees a b", "server gets a b c", "c gets 401 to a b", "b gets 401 to a",
                "c sees a b again", "server gets a b again c", "c gets 200 to a b again",
            ])
    }

    @Test func theCachesResultIsReportedThoughNoStageWantsTheAnswer() async throws {
        struct Cache: LoadStage {
            func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage { .passes().telling(.miss) }
            func load(
                _ request: LoadRequest, in context: LoadContext, next: LoadChain
            ) async throws(LoadError) -> LoadResponse {
                try await pass(request, by: passage(of: request, in: context), in: context, next: next)
            }
        }
        #expect(try await load([Cache(), server(200)]).facts.cache == .miss)
        let run = try await Cache().load(.get("https://a.example/"), in: Self.context, next: LoadChain([server(200)]))
        #expect(run.facts.cache == .miss)
    }

    // MARK: The same as by running

    /// A stage of which it is said elsewhere whether it passes or runs: the outcome is the same.
    struct Either: LoadStage {
        let stage: Passing
        let passes: Bool

        func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage {
            passes ? stage.passage(of: request, in: context) : .runs
        }

        func answered(
            _ response: LoadResponse, to request: LoadRequest, after passage: LoadPassage, in context: LoadContext,
            next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            try await stage.answered(response, to: request, after: passage, in: context, next: next)
        }

        func load(
            _ request: LoadRequest, in context: LoadContext, next: LoadChain
        ) async throws(LoadError) -> LoadResponse {
            let passage = stage.passage(of: request, in: context)
            return try await pass(request, by: passage, in: context, next: next)
        }
    }

    @Test(arguments: 0..<32) func passingAndRunningComeToTheSame(_ pattern: Int) async throws {
        func outcome(_ pattern: Int) async throws -> ([String], Int) {
            let trace = Trace()
            let interests: [AnswerInterests] = [.redirects, .clientErrors, .unauthorized, .every, .serverErrors]
            let stages: [any LoadStage] = interests.enumerated().map { place, interests in
                let stage = Passing(name: "\(place)", trace: trace, interests: interests, tries: place % 2)
                return Either(stage: stage, passes: pattern & (1 << place) != 0)
            }
            let answers = [401, 302, 503, 401, 200].map { HTTPResponse(status: .init(code: $0)) }
            let chain = LoadChain(stages + [Server(trace, answers)])
            let response = try await chain.load(.get("https://a.example/"), in: Self.context)
            return (trace.all, response.head.status.code)
        }
        let (running, mixed) = (try await outcome(0), try await outcome(pattern))
        #expect(running == mixed)
    }
}

extension LoadRequest {
    private static let name = HTTPField.Name("Stages") ?? .via

    fileprivate var names: String {
        let names = headerFields[values: Self.name]
        return names.isEmpty ? "-" : names.joined(separator: " ")
    }

    fileprivate func naming(_ name: String) -> LoadRequest {
        var request = self
        request.headerFields.append(HTTPField(name: Self.name, value: name))
        return request
    }
}
