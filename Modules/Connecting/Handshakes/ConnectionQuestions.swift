package import Logging
package import SallyportCore
package import SallyportLoading

/// Where a connection's questions during the handshake go, and until when they must be answered.
package struct ConnectionQuestions: Sendable {
    /// Nil if there is no delegate to ask: verification decides then.
    package var responder: (any ChallengeResponder)?
    /// The load for which the question is asked; 0 for a connection without a load.
    package var requestID: UInt64
    package var principal: Principal
    /// The deadline for the answer.
    package var deadline: ContinuousClock.Instant
    package var logger: Logger
    /// Records the connection; nil if no record is wanted.
    package var recorder: LoadRecorder?

    package init(of context: LoadContext) {
        responder = context.responder
        requestID = context.requestID
        principal = context.principal
        deadline = context.deadline
        logger = context.logger
        recorder = context.recorder
    }

    /// The questions of a connection without a load.
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
