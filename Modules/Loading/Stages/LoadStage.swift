public import SallyportCore

/// One step in processing a request: sees the request on the way down, and the head and the body stream on the way up.
///
/// A stage is a small value. It passes the request on with `next`, any number of times, and may answer it itself. It
/// runs on the caller's task, is cancelled with it, and does not store the response's body.
///
/// A stage that implements only ``load(_:in:next:)`` runs for each request. A stage that does not wait on the way down
/// implements ``passage(of:in:)`` too, and then costs a function call instead of a coroutine. This one adds the app's
/// name to each request, and reports the server's failures:
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

    /// The stage's decision about a request. Called once for each request that reaches the stage, before
    /// ``load(_:in:next:)``, which is skipped if the stage passes the request. Must not block. If it records something,
    /// such as a line of the record, `load` does not record it again.
    ///
    /// The default implementation lets the stage run.
    func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage

    /// Continues with an answer that the stage wanted to see, at the point where `load` would be after its call of
    /// `next`. The stages below have finished with it.
    ///
    /// The default implementation returns the response.
    ///
    /// - Parameters:
    ///   - response: the answer that came up from the stages below.
    ///   - request: as it reached the stage.
    ///   - passage: the stage's decision about it.
    ///   - context: the load's.
    ///   - next: the stages below, for a request that must be sent again.
    func answered(
        _ response: LoadResponse, to request: LoadRequest, after passage: LoadPassage, in context: LoadContext,
        next: LoadChain
    ) async throws(LoadError) -> LoadResponse

    /// Explains the decisions that ``load(_:in:next:)`` would make before the request is sent, without a connection and
    /// without changing anything. The default implementation adds nothing.
    ///
    /// - Parameters:
    ///   - request: as it reaches the stage; the stages below see changes to it.
    ///   - context: of a load that is not made.
    ///   - explanation: what the stage adds to.
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

    /// Passes a request on as decided, and continues with the answer if the stage wants to see it: the complete
    /// implementation of ``load(_:in:next:)`` for a stage that does not wait on the way down.
    ///
    /// - Parameters:
    ///   - request: as it reached the stage.
    ///   - passage: the result of ``passage(of:in:)``; not ``LoadPassage/runs``, which has no interests.
    ///   - context: the load's.
    ///   - next: the stages below.
    public func pass(
        _ request: LoadRequest, by passage: LoadPassage, in context: LoadContext, next: LoadChain
    ) async throws(LoadError) -> LoadResponse {
        var response = try await next.load(passage.request ?? request, in: context)
        if let result = passage.cacheResult { response.facts.cache = result }
        guard passage.wants(response) else { return response }
        return try await answered(response, to: request, after: passage, in: context, next: next)
    }
}
