internal import SallyportCore

/// Work whose result several want at once: one does it on its own task, and the others get what came of it. A failure is
/// shared too, so that a silent KDC is not waited for by one after the other. Lock: a leaf.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Landing = Result<Value, KerberosError>

    private enum Turn: Sendable {
        case lead, cancelled
        case landed(Landing)
    }

    private struct State {
        var next: UInt64 = 0
        var waiting: [Key: [UInt64: CheckedContinuation<Turn, Never>]] = [:]
    }

    private let state = Lock(State())

    /// - Throws: what `work` throws, done by whomever; a leader that was cancelled fails nobody but itself.
    func value(
        of key: Key, _ work: () async throws(KerberosError) -> Value
    ) async throws(KerberosError) -> Value {
        while true {
            switch await turn(key) {
            case .lead:
                let result: Landing
                do throws(KerberosError) {
                    result = .success(try await work())
                } catch {
                    result = .failure(error)
                }
                land(result, key)
                return try result.get()
            case .cancelled: throw Self.cancelled
            case .landed(.failure(let error)) where error.isCancellation: continue
            case .landed(let result): return try result.get()
            }
        }
    }

    private static var cancelled: KerberosError {
        KerberosError(.kdcUnreachable, "The task was cancelled.", underlying: LoadError.cancelled())
    }

    private func land(_ result: Landing, _ key: Key) {
        let waiting = state.withLock { $0.waiting.removeValue(forKey: key) }
        for continuation in (waiting ?? [:]).values { continuation.resume(returning: .landed(result)) }
    }

    private func turn(_ key: Key) async -> Turn {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let turn = state.withLock { state -> Turn? in
                    // Cancelled before it waits: the handler ran already and found nobody.
                    if Task.isCancelled { return .cancelled }
                    if state.waiting[key] == nil {
                        state.waiting[key] = [:]
                        return .lead
                    }
                    state.waiting[key]?[number] = continuation
                    return nil
                }
                if let turn { continuation.resume(returning: turn) }
            }
        } onCancel: {
            let waiting = state.withLock { $0.waiting[key]?.removeValue(forKey: number) }
            waiting?.resume(returning: .cancelled)
        }
    }
}

extension KerberosError {
    var isCancellation: Bool { (underlying as? LoadError)?.code == .cancelled }
}
