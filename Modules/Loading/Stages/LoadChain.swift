internal import HTTPTypes
public import SallyportCore

/// The stages below a stage.
public struct LoadChain: Sendable {
    private let stages: [any LoadStage]
    private let position: Int

    /// - Parameter stages: from the top down; the last one sends the request.
    public init(_ stages: [any LoadStage]) {
        self.stages = stages
        position = 0
    }

    private init(stages: [any LoadStage], position: Int) {
        self.stages = stages
        self.position = position
    }

    /// Calls the next stage that does not pass the request. The answer then goes to those of the passed stages that
    /// want to see it, from the bottom up.
    public func load(_ request: LoadRequest, in context: LoadContext) async throws(LoadError) -> LoadResponse {
        var descent = Descent(request, stages: stages.count - position)
        let running = firstRunning(below: &descent, in: context)
        guard running < stages.count else {
            throw LoadError(.internalFailure, "The last stage of a chain answers; it has no next one.")
        }
        var response = try await stages[running].load(descent.request, in: context, next: rest(below: running))
        if let result = descent.cacheResult { response.facts.cache = result }
        guard descent.isWanted(response.head, response.facts.sentNow) else { return response }
        return try await ascend(with: consume response, after: descent, in: context)
    }

    /// The first stage that does not pass the request.
    private func firstRunning(below descent: inout Descent, in context: LoadContext) -> Int {
        for place in position..<stages.count {
            let passage = stages[place].passage(of: descent.request, in: context)
            guard passage.isPassed else { return place }
            descent.pass(passage)
        }
        return stages.count
    }

    /// Each stage decides on the answer from the stages below it.
    private func ascend(
        with answer: consuming LoadResponse, after descent: Descent, in context: LoadContext
    ) async throws(LoadError) -> LoadResponse {
        var response = answer
        for place in descent.passages.indices.reversed() {
            let passage = descent.passages[place]
            guard passage.wants(response) else { continue }
            response = try await stages[position + place].answered(
                response, to: descent.request(to: place), after: passage, in: context,
                next: rest(below: position + place))
        }
        return response
    }

    private func rest(below place: Int) -> LoadChain { LoadChain(stages: stages, position: place + 1) }

    /// The stages' decisions without sending, from the top down.
    package func explain(
        _ request: LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {
        var request = request
        for stage in stages[position...] { await stage.explain(&request, in: context, into: &explanation) }
    }
}

/// A request on its way past stages that do not run, and their results.
struct Descent {
    private let original: LoadRequest
    /// The request for the next stage.
    private(set) var request: LoadRequest
    private(set) var passages: [LoadPassage] = []
    /// The answers that any of the stages wants to see.
    private(set) var interests: AnswerInterests = []
    /// The cache's result, if the cache was passed.
    private(set) var cacheResult: CacheResult?

    init(_ request: LoadRequest, stages: Int) {
        original = request
        self.request = request
        passages.reserveCapacity(stages)
    }

    mutating func pass(_ passage: consuming LoadPassage) {
        interests.formUnion(passage.interests)
        if let changed = passage.request { request = changed }
        if let result = passage.cacheResult { cacheResult = result }
        passages.append(passage)
    }

    /// Whether any of the stages wants to see an answer.
    func isWanted(_ head: HTTPResponse, _ sentNow: HTTPFields?) -> Bool {
        !AnswerInterests(of: head, sentNow: sentNow, among: interests).isEmpty
    }

    /// The request as it reached the stage at a position. The additions of lower stages, such as this server's cookies,
    /// do not concern that stage, and a redirect would send them to the next server.
    func request(to place: Int) -> LoadRequest {
        passages[..<place].last { $0.request != nil }?.request ?? original
    }
}
