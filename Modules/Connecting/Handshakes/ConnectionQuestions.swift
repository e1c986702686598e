package import Logging
package import SallyportCore
package import SallyportLoading

/// Who is asked what a handshake puts in question, and until when.
package struct ConnectionQuestions: Sendable {
    /// Nil if there is no delegate to ask: verification decides then.
    package var responder: (any ChallengeResponder)?
    /// Of the load that asks; 0 for a connection that is no load's.
    package var requestID: UInt64
    package var principal: Principal
    /// When there must be an answer.
    package var deadline: ContinuousClock.Instant
    package var logger: Logger
    /// Takes note of the connection; nil if no record is asked for.
    package var recorder: LoadRecorder?

    package init(of context: LoadContext) {
        responder = context.responder
        requestID = context.requestID
        principal = context.principal
        deadline = context.deadline
        logger = context.logger
        recorder = context.recorder
    }

    /// Those of a connection that is no load's.
    ///
    /// - Parameter deadline: for answers; has no effect without a responder.
    package init(
        by responder: (any ChallengeResponder)? = nil, principal: Principal,
        until deadline: ContinuousClock.Instant = .now, logger: Logger
    ) {
        self.responder = responder
        requestID = 0
        self.principal = principal
        self.deadline = deadline
        self.logger = logger
    }
}
