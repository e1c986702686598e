internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading
internal import SallyportTransport

/// Questions that the app has not answered yet, and the loads that wait for the answers. Equal questions are asked
/// once, and all loads that wait get the answer, which is kept until each of them has taken it.
struct PendingQuestions: Sendable {
    /// Equal questions are asked once.
    struct Question: Hashable, Sendable {
        var place: ConnectionDecisions.Place
        var method: AuthenticationMethod
        /// The chain that is in question.
        var fingerprint: ChainFingerprint?
        /// Set if the load's own delegate is asked too: then the question belongs to this load alone.
        var requestID: UInt64?
    }

    private struct Pending {
        /// The number of the load that asked first; distinguishes this question from a later, equal one.
        let number: UInt64
        var waiters: [UInt64: TaskSignal]
        var work: Task<Void, Never>?
    }

    private var pending: [Question: Pending] = [:]
    private var answers: [UInt64: ChallengeDisposition] = [:]
    private var lastNumber: UInt64 = 0

    /// The number of loads that wait for answers.
    var waiterCount: Int { pending.values.reduce(0) { $0 + $1.waiters.count } }

    /// Adds a load, which waits for the signal, and then calls ``leave(_:_:)``.
    ///
    /// - Returns: `isFirst` if the app has to be asked.
    mutating func join(_ question: Question) -> (number: UInt64, signal: TaskSignal, isFirst: Bool) {
        lastNumber += 1
        let signal = TaskSignal()
        let isFirst = pending[question] == nil
        pending[question, default: Pending(number: lastNumber, waiters: [:])].waiters[lastNumber] = signal
        return (lastNumber, signal, isFirst)
    }

    /// The task in which the app is asked.
    mutating func began(_ question: Question, _ work: Task<Void, Never>) { pending[question]?.work = work }

    /// Records the app's answer and wakes the waiting loads. Has no effect if all have left.
    ///
    /// - Parameter number: of the load that asked first.
    /// - Returns: whether a load was waiting for the answer.
    mutating func answered(_ question: Question, _ number: UInt64, with answer: ChallengeDisposition) -> Bool {
        guard pending[question]?.number == number, let ended = pending.removeValue(forKey: question) else {
            return false
        }
        for (number, signal) in ended.waiters {
            answers[number] = answer
            signal.send()
        }
        return true
    }

    /// Removes a waiting load.
    ///
    /// - Returns: the answer; nil if there is none because the load was cancelled. If no other load waits, the app's
    ///   task is cancelled then.
    mutating func leave(_ question: Question, _ number: UInt64) -> ChallengeDisposition? {
        if let answer = answers.removeValue(forKey: number) { return answer }
        pending[question]?.waiters[number] = nil
        if pending[question]?.waiters.isEmpty == true { pending.removeValue(forKey: question)?.work?.cancel() }
        return nil
    }
}
