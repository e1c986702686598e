public import SallyportCore

/// One step on the way of a request: sees it on the way down, and the head and the body stream on the way up.
///
/// A stage is a small value. It hands the request on with `next`, any number of times, and may answer by itself. It
/// runs on the task of the caller, is cancelled with it, and does not keep the response's body.
///
/// A stage that implements ``load(_:in:next:)`` alone runs for each request. One that has nothing to wait for on the way
/// down says so with ``passage(of:in:)``, and costs a call instead of a coroutine. This one names the app in each
/// request, and reports the server's failures:
///
/// ```swift
/// struct NamingStage: LoadStage {
///     let name: String
///     let report: @Sendable (LoadResponse) async -> Void
///
///     func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage {
///         var named = request
///         named.headerFields[.userAgent] = name
///         return .passes(watching: .serverErrors, as: named)
///     }
///
///     func answered(
///         _ response: LoadResponse, to request: LoadRequest, after passage: LoadPassage, in context: LoadContext,
///         next: LoadChain
///     ) async throws(LoadError) -> LoadResponse {
///         await report(response)
///         return response
///     }
///
///     func load(
///         _ request: LoadRequest, in context: LoadContext, next: LoadChain
///     ) async throws(LoadError) -> LoadResponse {
///         try await pass(request, by: passage(of: request, in: context), in: context, next: next)
///     }
/// }
/// ```
public protocol LoadStage: Sendable {
    func load(_ request: LoadRequest, in context: LoadContext, next: LoadChain) async throws(LoadError) -> LoadResponse

    /// Says at once what the stage has to do with a request. Asked once for each request that comes to the stage, before
    /// ``load(_:in:next:)``, which is left out if the stage passes the request. Must not block. What it notes, such as a
    /// line of the record, is not noted again in `load`.
    ///
    /// The default implementation lets the stage run.
    func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage

    /// Goes on with an answer that the stage wanted to see, from where `load` would have been with it. The stages below
    /// are through with it.
    ///
    /// The default implementation gives the response back.
    ///
    /// - Parameters:
    ///   - request: as it came to the stage.
    ///   - passage: what the stage said of it.
    func answered(
        _ response: LoadResponse, to request: LoadRequest, after passage: LoadPassage, in context: LoadContext,
        next: LoadChain
    ) async throws(LoadError) -> LoadResponse

    /// Says what ``load(_:in:next:)`` would decide before the request is sent, without a connection and without
    /// changing anything. The default implementation adds nothing.
    ///
    /// - Parameter request: as it comes to the stage; changes to it are seen by the stages below.
    func explain(
        _ request: inout LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async
}

extension LoadStage {
    public func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage { .runs }

    public func answered(
        _ response: LoadResponse, to request: LoadRequest, after passage: LoadPassage, in context: LoadContext,
        next: LoadChain
    ) async throws(LoadError) -> LoadResponse { response }

    public func explain(
        _ request: inout LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {}

    /// Hands a request on as a passage says, and goes on with the answer if the stage wants to see it: the whole of
    /// ``load(_:in:next:)`` for a stage that has nothing to wait for on the way down.
    ///
    /// - Parameter passage: what ``passage(of:in:)`` said; not ``LoadPassage/runs``, which says nothing of answers.
    public func pass(
        _ request: LoadRequest, by passage: LoadPassage, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        var response = try await next.load(passage.request ?? request, in: context)
        if let result = passage.cacheResult { response.facts.cache = result }
        guard passage.wants(response) else { return response }
        return try await answered(response, to: request, after: passage, in: context, next: next)
    }
}

/// The rest of the stages below a stage.
public struct LoadChain: Sendable {
    private let stages: [any LoadStage]
    private let position: Int

    /// - Parameter stages: from the top down; the last one answers.
    public init(_ stages: [any LoadStage]) {
        self.stages = stages
        position = 0
    }

    private init(stages: [any LoadStage], position: Int) {
        self.stages = stages
        self.position = position
    }

    /// Hands the request to the next stage that does not pass it. The answer goes to those of the passed stages that want
    /// to see it, from the bottom up.
    public func load(_ request: LoadRequest, in context: LoadContext) async throws(LoadError) -> LoadResponse {
        var descent = Descent(request, stages: stages.count - position)
        let running = firstRunning(below: &descent, in: context)
        guard running < stages.count else {
            throw LoadError(.internalFailure, "The last stage of a chain answers; it has no next one.")
        }
        var response = try await stages[running].load(descent.request, in: context, next: rest(below: running))
        if let result = descent.cacheResult { response.facts.cache = result }
        guard !AnswerInterests(of: response, among: descent.interests).isEmpty else { return response }
        return try await ascend(with: response, after: descent, in: context)
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

    /// Each stage decides on the answer of those below it.
    private func ascend(
        with answer: LoadResponse, after descent: Descent, in context: LoadContext
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

    /// What the stages would decide, from the top down.
    package func explain(
        _ request: LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {
        var request = request
        for stage in stages[position...] { await stage.explain(&request, in: context, into: &explanation) }
    }
}
