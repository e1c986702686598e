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
        try await load(after: descent(of: request, in: context), in: context)
    }

    /// Shows a request to the stages as far as they pass it. Waits for nothing.
    package func descent(of request: LoadRequest, in context: LoadContext) -> Descent {
        var descent = Descent(request, stages: max(0, stages.count - position - 1))
        for place in position..<stages.count {
            let passage = stages[place].passage(of: descent.request, in: context)
            guard passage.isPassed else { break }
            descent.pass(consume passage)
        }
        return consume descent
    }

    /// Whether all stages but the last one have passed a request.
    package func reachesLast(_ descent: Descent) -> Bool { position + descent.count == stages.count - 1 }

    /// Calls the stage at which a descent ended.
    @inline(__always)
    package func load(after descent: Descent, in context: LoadContext) async throws(LoadError) -> LoadResponse {
        let running = position + descent.count
        guard running < stages.count else {
            throw LoadError(.internalFailure, "The last stage of a chain answers; it has no next one.")
        }
        var response = try await stages[running].load(descent.request, in: context, next: rest(below: running))
        guard descent.isWanted(&response) else { return response }
        return try await ascend(with: response, after: descent, in: context)
    }

    /// Gives an answer to the stages that want to see it: each decides on the answer from the stages below it.
    package func ascend(
        with answer: consuming LoadResponse, after descent: Descent, in context: LoadContext
    ) async throws(LoadError) -> LoadResponse {
        var response = answer
        for place in (0..<descent.count).reversed() {
            guard let passage = descent.passage(at: place, for: response) else { continue }
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

/// A request on its way past stages that do not run, and what they said of it.
package struct Descent: Sendable {
    private struct Step: Sendable {
        let interests: AnswerInterests
        let note: (any Sendable)?
        /// As the request reached the stage; nil if the stage did not change it.
        let before: LoadRequest?
    }

    /// The request for the next stage.
    package private(set) var request: LoadRequest
    private var steps: [Step] = []
    /// The answers that any of the stages wants to see.
    private var interests: AnswerInterests = []
    /// The cache's result, if the cache was passed.
    private var cacheResult: CacheResult?

    init(_ request: LoadRequest, stages: Int) {
        self.request = request
        steps.reserveCapacity(stages)
    }

    /// How many stages were passed.
    var count: Int { steps.count }

    mutating func pass(_ passage: consuming LoadPassage) {
        interests.formUnion(passage.interests)
        if let result = passage.cacheResult { cacheResult = result }
        var before: LoadRequest?
        if var changed = passage.request.take() {
            swap(&request, &changed)
            before = changed
        }
        steps.append(Step(interests: passage.interests, note: passage.note, before: before))
    }

    /// Notes the cache's result in an answer.
    ///
    /// - Returns: whether any of the stages wants to see it.
    package func isWanted(_ response: inout LoadResponse) -> Bool {
        if let cacheResult { response.facts.cache = cacheResult }
        return !AnswerInterests(of: response, among: interests).isEmpty
    }

    /// What the stage at a position said of the request; nil if it does not want to see the answer.
    func passage(at place: Int, for response: LoadResponse) -> LoadPassage? {
        let step = steps[place]
        guard !step.interests.isEmpty, !AnswerInterests(of: response, among: step.interests).isEmpty else { return nil }
        return .passes(watching: step.interests, note: step.note)
    }

    /// The request as it reached the stage at a position. The additions of lower stages, such as this server's cookies,
    /// do not concern that stage, and a redirect would send them to the next server.
    func request(to place: Int) -> LoadRequest {
        steps[place...].lazy.compactMap(\.before).first ?? request
    }
}
