internal import SallyportBase
internal import SallyportCore

/// Work whose result several tasks need at once: one of them does it, and the others get its result. A failure is
/// shared too, so that they do not wait for a silent KDC one after another.
actor SharedWork<Key: Hashable & Sendable, Value: Sendable> {
    private typealias Landing = Result<Value, KerberosError>

    /// One piece of work in progress.
    private final class Round {
        var landing: Landing?
        var waiting: [TaskSignal] = []
    }

    private var rounds: [Key: Round] = [:]

    /// - Throws: the error of `work`, for all waiting tasks. If the task that does the work is cancelled, only that
    ///   task fails.
    func value(
        of key: Key, _ work: @Sendable () async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        while !Task.isCancelled {
            guard let round = rounds[key] else { return try await lead(key, work) }
            let signal = TaskSignal()
            round.waiting.append(signal)
            await signal.wait()
            switch round.landing {
            case nil: continue
            case .failure(let error)? where error.isCancellation: continue
            case .success(let value)?: return value
            case .failure(let error)?: throw error
            }
        }
        throw KerberosError(.kdcUnreachable, "The task was cancelled.", underlying: LoadError.cancelled())
    }

    private func lead(
        _ key: Key, _ work: @Sendable () async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        let round = Round()
        rounds[key] = round
        let result: Landing
        do throws(KerberosError) {
            result = .success(try await work())
        } catch {
            result = .failure(error)
        }
        rounds[key] = nil
        round.landing = result
        for signal in round.waiting { signal.send() }
        return try result.get()
    }
}

extension KerberosError {
    var isCancellation: Bool { (underlying as? LoadError)?.code == .cancelled }
}
