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
