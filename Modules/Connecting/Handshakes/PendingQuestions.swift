internal import SallyportBase
internal import SallyportCore
internal import SallyportLoading

/// Questions that the app thinks about: the same one is put once, and all who ask it get the answer.
///
/// The app answers in a task of its own, because whoever asked first may be cancelled while others wait; it is
/// cancelled when nobody waits any more. Docs/Concurrency.md lists it.
final class PendingQuestions: Sendable {
    /// What makes two questions the same.
    struct Question: Hashable, Sendable {
        var place: ConnectionDecisions.Place
        var method: AuthenticationMethod
        /// The chain that is in question.
        var fingerprint: ChainFingerprint?
        /// Set where the load's own delegate is asked too: then the question is the load's.
        var requestID: UInt64?
    }

    private typealias Waiting = Waiter<ChallengeDisposition?>

    private struct Pending {
        /// Of whoever asked first.
        let number: UInt64
        let work: Task<Void, Never>
        var waiters: [UInt64: Waiting] = [:]
    }

    private let pending = Lock<[Question: Pending]>([:])

    /// How many wait for answers.
    var waiterCount: Int { pending.withLock { $0.values.reduce(0) { $0 + $1.waiters.count } } }

    /// - Returns: nil where the caller's task was cancelled.
    func answer(
        to question: Question, asking ask: @escaping @Sendable () async -> ChallengeDisposition
    ) async -> ChallengeDisposition? {
        let answer: ChallengeDisposition? = await pending.wait(orCancelled: nil) { pending, waiter in
            if pending[question] == nil {
                let work = Task { self.answered(question, waiter.number, await ask()) }
                pending[question] = Pending(number: waiter.number, work: work)
            }
            pending[question]?.waiters[waiter.number] = waiter
            return nil
        } leave: { pending, number in
            pending[question]?.waiters.removeValue(forKey: number)
        }
        if answer == nil { abandoned(question) }
        return answer
    }

    /// An answer that nobody waits for any more does nothing.
    private func answered(_ question: Question, _ number: UInt64, _ disposition: ChallengeDisposition) {
        let waiters = pending.withLock { pending -> [Waiting] in
            guard pending[question]?.number == number else { return [] }
            return pending.removeValue(forKey: question).map { Array($0.waiters.values) } ?? []
        }
        for waiter in waiters { waiter.resume(returning: disposition) }
    }

    /// Somebody has left.
    private func abandoned(_ question: Question) {
        let work = pending.withLock { pending -> Task<Void, Never>? in
            guard pending[question]?.waiters.isEmpty == true else { return nil }
            return pending.removeValue(forKey: question)?.work
        }
        work?.cancel()
    }
}
