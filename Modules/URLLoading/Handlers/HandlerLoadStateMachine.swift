internal import HTTPTypes
internal import SallyportCore

/// What a ``HandlerLoad`` decides: the caller is answered exactly once, by the first of several outcomes.
struct HandlerLoadStateMachine: Sendable {
    typealias Caller = CheckedContinuation<HandlerLoad.Outcome, Never>

    /// The caller to resume once the lock is released.
    struct Action: Sendable {
        let caller: Caller
        let outcome: HandlerLoad.Outcome
    }

    private enum State {
        /// Neither the caller waits nor is there an outcome.
        case idle
        case waiting(Caller)
        /// The outcome came before the caller.
        case ready(HandlerLoad.Outcome)
        case answered
    }

    private var state = State.idle
    private(set) var hasBegun = false
    /// Of an answer that the handler passes on.
    var trailers: HTTPFields?
    /// What carries the handler out.
    private(set) var task: Task<Void, Never>?
    private var hasEnded = false

    /// - Returns: whether it must be cancelled at once: the load has ended before.
    mutating func started(_ task: Task<Void, Never>) -> Bool {
        self.task = task
        return hasEnded
    }

    mutating func callerWaits(_ caller: Caller) -> Action? {
        guard case .ready(let outcome) = state else {
            state = .waiting(caller)
            return nil
        }
        state = .answered
        return Action(caller: caller, outcome: outcome)
    }

    /// The head comes; ``answered(_:)`` must follow. False if it comes twice or after the end, which is the
    /// handler's error.
    mutating func begins() -> Bool {
        guard !hasBegun, !hasEnded else { return false }
        hasBegun = true
        return true
    }

    /// The handler passes the request on. Nil if it is too late for that.
    mutating func declined() -> Action?? {
        guard !hasBegun, !hasEnded else { return nil }
        hasEnded = true
        return .some(answered(.declined))
    }

    /// The load is over; only the first call counts, and only before the head it is the caller's answer.
    mutating func ended(_ failure: LoadError?) -> Action? {
        guard !hasEnded else { return nil }
        hasEnded = true
        guard !hasBegun else { return nil }
        return answered(.failed(failure ?? .cancelled()))
    }

    mutating func answered(_ outcome: HandlerLoad.Outcome) -> Action? {
        guard case .waiting(let caller) = state else {
            state = .ready(outcome)
            return nil
        }
        state = .answered
        return Action(caller: caller, outcome: outcome)
    }
}
