public import Logging
public import SallyportBase
public import SallyportCore

/// One step on the way of a request: sees it on the way down, and the head and the body stream on the way up.
///
/// A stage is a small value. It hands the request on with `next`, any number of times, and may answer by itself. It
/// runs on the task of the caller, is cancelled with it, and does not keep the response's body.
public protocol LoadStage: Sendable {
    func load(_ request: LoadRequest, in context: LoadContext, next: LoadChain) async throws(LoadError) -> LoadResponse

    /// Says what ``load(_:in:next:)`` would decide before the request is sent, without a connection and without
    /// changing anything. The default implementation adds nothing.
    ///
    /// - Parameter request: as it comes to the stage; changes to it are seen by the stages below.
    func explain(
        _ request: inout LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async
}

extension LoadStage {
    public func explain(
        _ request: inout LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {}
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

    /// Hands the request to the next stage.
    public func load(_ request: LoadRequest, in context: LoadContext) async throws(LoadError) -> LoadResponse {
        guard position < stages.count else {
            throw LoadError(.internalFailure, "The last stage of a chain answers; it has no next one.")
        }
        let rest = LoadChain(stages: stages, position: position + 1)
        return try await stages[position].load(request, in: context, next: rest)
    }

    /// What the stages would decide, from the top down.
    package func explain(
        _ request: LoadRequest, in context: LoadContext, into explanation: inout LoadExplanation
    ) async {
        var request = request
        for stage in stages[position...] { await stage.explain(&request, in: context, into: &explanation) }
    }
}

/// What holds for all stages and hops of one load.
public struct LoadContext: Sendable {
    /// Unique within the process; on each log line of the load.
    public let requestID: UInt64
    public let logger: Logger
    /// When the load must be whole.
    public let deadline: ContinuousClock.Instant
    /// The time without a byte after which the load fails.
    public let idleTimeout: Duration
    public let principal: Principal
    /// The caller takes a body of up to this length at once; nil if the body is streamed to a reader that may be slow.
    public let collectsUpTo: ByteCount?
    /// Answers the load's challenges; nil for default handling.
    public let responder: (any ChallengeResponder)?
    /// The task to which the load belongs; nil if the load can be neither suspended nor followed.
    package var control: (any TransferControl)?
    /// The proxies of direct routes.
    public let proxies: ProxySettings
    /// Which methods answer challenges, and in which order they are tried.
    package var methods = MethodPreferences()
    /// Records the load; nil if the load is not recorded.
    package var recorder: LoadRecorder?
    /// Makes the proof of identity when the request is about to be sent; nil if the request's fields have it already.
    package var signer: (any RequestSigner)?
    /// The connection that the request is sent over; nil if it shares those of its principal.
    package var connection: ConnectionUse?
    /// Names the session, so that its connections can be told from others.
    package var session = ""
    /// How many connections the session has with one origin at once.
    package var connectionsPerOrigin = 6
    /// The trust settings and client certificates of the session: a stored response of another session can be used only
    /// if it was received under equal ones.
    package var trust = TrustScopes.unnamed

    public init(
        requestID: UInt64, logger: Logger, deadline: ContinuousClock.Instant, idleTimeout: Duration,
        principal: Principal, collectsUpTo: ByteCount? = nil, responder: (any ChallengeResponder)? = nil,
        proxies: ProxySettings = .none
    ) {
        self.requestID = requestID
        self.logger = logger
        self.deadline = deadline
        self.idleTimeout = idleTimeout
        self.principal = principal
        self.collectsUpTo = collectsUpTo
        self.responder = responder
        self.proxies = proxies
    }
}
