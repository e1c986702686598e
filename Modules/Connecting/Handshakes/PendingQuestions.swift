internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// Questions that the app thinks about, and the loads that wait for its answers: the same question is put once, and all
/// that wait for it get the answer.
struct PendingQuestions: Sendable {
    /// What makes two questions the same.
    struct Question: Hashable, Sendable {
        var place: ConnectionDecisions.Place
        var method: AuthenticationMethod
        /// The chain that is in question.
        var fingerprint: ChainFingerprint?
        /// Set where the load's own delegate is asked too: then the question is the load's.
        var requestID: UInt64?
    }

    typealias Continuation = CheckedContinuation<ChallengeDisposition?, Never>

    private struct Pending {
        /// Of the first that waited: tells this question from a later one that is the same.
        let number: UInt64
        var waiters: [UInt64: Continuation]
        var work: Task<Void, Never>?
    }

    private var pending: [Question: Pending] = [:]
    private var lastNumber: UInt64 = 0

    /// How many loads wait for answers.
    var waiterCount: Int { pending.values.reduce(0) { $0 + $1.waiters.count } }

    mutating func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// Waits for the answer.
    ///
    /// - Returns: whether this is the first to ask, so that the app has to be asked.
    mutating func join(_ question: Question, _ number: UInt64, _ continuation: Continuation) -> Bool {
        guard pending[question] == nil else {
            pending[question]?.waiters[number] = continuation
            return false
        }
        pending[question] = Pending(number: number, waiters: [number: continuation])
        return true
    }

    /// The task in which the app is asked.
    mutating func began(_ question: Question, _ work: Task<Void, Never>) { pending[question]?.work = work }

    /// Takes all that wait for an answer; none where they have left.
    mutating func answered(_ question: Question, _ number: UInt64) -> [Continuation] {
        guard pending[question]?.number == number, let ended = pending.removeValue(forKey: question) else { return [] }
        return Array(ended.waiters.values)
    }

    /// Takes one that waits no more, and the task that asks for it alone, which can be cancelled.
    mutating func leave(_ question: Question, _ number: UInt64) -> (Continuation, abandoned: Task<Void, Never>?)? {
        guard let continuation = pending[question]?.waiters.removeValue(forKey: number) else { return nil }
        guard pending[question]?.waiters.isEmpty == true else { return (continuation, nil) }
        return (continuation, pending.removeValue(forKey: question)?.work)
    }
}
