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
    package private(set) var deadline: ContinuousClock.Instant
    /// How long the answers to one handshake may take.
    private let timeout: Duration
    package var logger: Logger
    /// Records the connection; nil if no record is wanted.
    package var recorder: LoadRecorder?

    package init(of context: LoadContext) {
        responder = context.responder
        requestID = context.requestID
        principal = context.principal
        deadline = context.deadline
        // A load has no handshake on a connection that is open already.
        timeout = .zero
        logger = context.logger
        recorder = context.recorder
    }

    /// The questions of a connection without a load.
    ///
    /// - Parameters:
    ///   - timeout: how long answers may take, counted from `now`; has no effect without a responder.
    ///   - limit: when the connection must be over in any case; nil if it may last.
    package init(
        by responder: (any ChallengeResponder)? = nil, principal: Principal, within timeout: Duration = .zero,
        until limit: ContinuousClock.Instant? = nil, from now: ContinuousClock.Instant = .now, logger: Logger
    ) {
        self.responder = responder
        requestID = 0
        self.principal = principal
        self.timeout = timeout
        deadline = Self.deadline(within: timeout, until: limit, from: now)
        self.logger = logger
    }

    /// The questions of a handshake that begins on the open connection. The time for answers begins anew: what the
    /// opening took of it does not count.
    ///
    /// - Parameter limit: when the connection must be over in any case; nil if it may last.
    package func renewed(
        until limit: ContinuousClock.Instant?, from now: ContinuousClock.Instant = .now
    ) -> ConnectionQuestions {
        var questions = self
        questions.deadline = Self.deadline(within: timeout, until: limit, from: now)
        return questions
    }

    private static func deadline(
        within timeout: Duration, until limit: ContinuousClock.Instant?, from now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant {
        min(now + timeout, limit ?? now + timeout)
    }
}
