internal import SallyportCore

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

    private typealias Waiter = CheckedContinuation<ChallengeDisposition?, Never>

    private struct Pending {
        let number: UInt64
        var work: Task<Void, Never>?
        var waiters: [UInt64: Waiter] = [:]
    }

    private struct State {
        var pending: [Question: Pending] = [:]
        var number: UInt64 = 0
        /// Left before they waited.
        var left: Set<UInt64> = []

        mutating func nextNumber() -> UInt64 {
            number += 1
            return number
        }
    }

    private let state = Lock(State())

    /// How many wait for answers.
    var waiterCount: Int { state.withLock { $0.pending.values.reduce(0) { $0 + $1.waiters.count } } }

    /// - Returns: nil where the caller's task was cancelled.
    func answer(
        to question: Question, asking ask: @escaping @Sendable () async -> ChallengeDisposition
    ) async -> ChallengeDisposition? {
        let waiter = state.withLock { $0.nextNumber() }
        // Whoever is cancelled at the moment of the answer has left for nothing.
        defer { state.withLock { _ = $0.left.remove(waiter) } }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                wait(for: question, waiter, continuation, ask)
            }
        } onCancel: {
            leave(question, waiter)
        }
    }

    private func wait(
        for question: Question, _ waiter: UInt64, _ continuation: Waiter,
        _ ask: @escaping @Sendable () async -> ChallengeDisposition
    ) {
        let hasLeft = state.withLock { state in
            guard state.left.remove(waiter) == nil else { return true }
            if state.pending[question] == nil {
                let number = state.nextNumber()
                let work = Task { self.answered(question, number, await ask()) }
                state.pending[question] = Pending(number: number, work: work)
            }
            state.pending[question]?.waiters[waiter] = continuation
            return false
        }
        if hasLeft { continuation.resume(returning: nil) }
    }

    /// An answer that nobody waits for any more does nothing.
    private func answered(_ question: Question, _ number: UInt64, _ disposition: ChallengeDisposition) {
        let waiters: [Waiter] = state.withLock { state in
            guard let pending = state.pending[question], pending.number == number else { return [] }
            state.pending[question] = nil
            return Array(pending.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: disposition) }
    }

    private func leave(_ question: Question, _ waiter: UInt64) {
        let (continuation, work): (Waiter?, Task<Void, Never>?) = state.withLock { state in
            guard let continuation = state.pending[question]?.waiters.removeValue(forKey: waiter) else {
                state.left.insert(waiter)
                return (nil, nil)
            }
            guard state.pending[question]?.waiters.isEmpty == true else { return (continuation, nil) }
            return (continuation, state.pending.removeValue(forKey: question)?.work)
        }
        work?.cancel()
        continuation?.resume(returning: nil)
    }
}
