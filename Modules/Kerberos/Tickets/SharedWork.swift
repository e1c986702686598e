internal import SallyportBase
internal import SallyportCore

/// Work whose result several tasks need at once: it is done once, and all of them get its result. A failure is shared
/// too, so that they do not wait for a silent KDC one after another.
///
/// The work has a task of its own, because the task that needed it first may be cancelled while others wait: to do it
/// again would be a second sign-in, for which a password that is good for one use is spent. It is cancelled when no task
/// waits any more. Docs/Concurrency.md lists it.
actor SharedWork<Key: Hashable & Sendable, Value: Sendable> {
    typealias Work = @Sendable () async throws(KerberosError) -> Value
    private typealias Landing = Result<Value, KerberosError>

    /// One piece of work in progress.
    private final class Round {
        var landing: Landing?
        var waiting: [UInt64: TaskSignal] = [:]
        var work: Task<Void, Never>?

        var isCancelled: Bool { work?.isCancelled ?? false }
    }

    private var rounds: [Key: Round] = [:]
    private var lastNumber: UInt64 = 0

    /// How many tasks wait.
    var waiterCount: Int { rounds.values.reduce(0) { $0 + $1.waiting.count } }

    /// - Throws: the error of `work`, for all waiting tasks. If one of them is cancelled, only that task fails.
    func value(of key: Key, _ work: @escaping Work) async throws(KerberosError) -> Value {
        while !Task.isCancelled {
            let round = rounds[key] ?? begin(key, work)
            guard let landing = await landing(of: round) else { continue }
            // The round was given up before this task came, and its end was awaited: there is one at a time.
            if case .failure(let error) = landing, error.isCancellation, round.isCancelled { continue }
            return try landing.get()
        }
        throw KerberosError(.kdcUnreachable, "The task was cancelled.", underlying: LoadError.cancelled())
    }

    /// Nil if the waiting task was cancelled.
    private func landing(of round: Round) async -> Landing? {
        lastNumber += 1
        let (number, signal) = (lastNumber, TaskSignal())
        round.waiting[number] = signal
        await signal.wait()
        round.waiting[number] = nil
        if round.landing == nil, round.waiting.isEmpty { round.work?.cancel() }
        return round.landing
    }

    private func begin(_ key: Key, _ work: @escaping Work) -> Round {
        let round = Round()
        rounds[key] = round
        round.work = Task {
            do throws(KerberosError) {
                land(.success(try await work()), key)
            } catch {
                land(.failure(error), key)
            }
        }
        return round
    }

    private func land(_ landing: Landing, _ key: Key) {
        guard let round = rounds.removeValue(forKey: key) else { return }
        round.landing = landing
        for signal in round.waiting.values { signal.send() }
    }
}

extension KerberosError {
    var isCancellation: Bool { (underlying as? LoadError)?.code == .cancelled }
}
