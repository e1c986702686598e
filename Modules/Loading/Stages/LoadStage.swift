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
    /// Processes one request, from the stage's place in the chain: usually changes it, passes it on with `next.load`,
    /// and returns the answer, changed or not.
    ///
    /// `next` is a value, and the stage decides how often it is called: never, if the stage answers by itself; once; or
    /// again for each further request, as redirects and challenges need it. Each call takes one request through all
    /// stages below, from the top down. It is made by this stage alone, since it begins right below it. Before another
    /// call, read the earlier answer's body or discard it: an unread body keeps its connection until it is released,
    /// which ends the transfer. A request body that is not ``RequestBody/isReplayable`` can be passed on once; check it
    /// before a second call.
    ///
    /// It runs on the caller's task, and returns with the head: the body streams afterwards, and its errors are thrown
    /// to the reader and not here. Cancelling the task cancels the exchange that `next` waits for. What the stage
    /// itself waits for is ended neither by the load's deadline nor by a withdrawal: observe cancellation and
    /// ``LoadContext/deadline``. Must not block the thread.
    ///
    /// - Parameters:
    ///   - request: as the stages above have left it.
    ///   - context: the load's values, passed on to `next`; a changed copy is for the stages below.
    ///   - next: the stages below; at the last stage of a chain, a call fails with `internalFailure`.
    /// - Returns: the answer for the stages above. Any HTTP status is an answer.
    /// - Throws: the errors of `next`, unless the stage handles them, and its own; a thrown error is the load's result
    ///   unless a stage above handles it.
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
    /// Lets the stage run: ``LoadPassage/runs``.
    public func passage(of request: LoadRequest, in context: LoadContext) -> LoadPassage { .runs }

    /// Returns the response as it came.
    public func answered(
        _ response: LoadResponse, to request: LoadRequest, after passage: LoadPassage, in context: LoadContext,
        next: LoadChain
    ) async throws(LoadError) -> LoadResponse { response }

    /// Adds nothing.
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
