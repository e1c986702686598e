package import Logging
package import SallyportCore
package import SallyportLoading

/// Who is asked what a handshake puts in question, and until when.
package struct ConnectionQuestions: Sendable {
    /// Nil where nobody is there to ask.
    package var responder: (any ChallengeResponder)?
    /// Of the load that asks.
    package var requestID: UInt64
    package var principal: Principal
    /// When there must be an answer.
    package var deadline: ContinuousClock.Instant
    package var logger: Logger
    package var recorder: LoadRecorder?

    package init(of context: LoadContext) {
        responder = context.responder
        requestID = context.requestID
        principal = context.principal
        deadline = context.deadline
        logger = context.logger
        recorder = context.recorder
    }

    package init(
        by responder: (any ChallengeResponder)? = nil, requestID: UInt64 = 0, principal: Principal,
        until deadline: ContinuousClock.Instant, logger: Logger
    ) {
        self.responder = responder
        self.requestID = requestID
        self.principal = principal
        self.deadline = deadline
        self.logger = logger
    }
}
