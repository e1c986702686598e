internal import SallyportBase
internal import SallyportCore

/// Work whose result several want at once: one does it on its own task, and the others get what came of it. A failure is
/// shared too, so that a silent KDC is not waited for by one after the other. Lock: a leaf.
final class SharedWork<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Landing = Result<Value, KerberosError>

    private enum Turn: Sendable {
        case lead, cancelled
        case landed(Landing)
    }

    /// Those who wait for each piece of work that goes on.
    private let waiting = Lock<[Key: [UInt64: Waiter<Turn>]]>([:])

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
        let landed = waiting.withLock { $0.removeValue(forKey: key) }
        for waiter in (landed ?? [:]).values { waiter.resume(returning: .landed(result)) }
    }

    private func turn(_ key: Key) async -> Turn {
        await waiting.wait(orCancelled: .cancelled) { waiting, waiter in
            guard waiting[key] != nil else {
                waiting[key] = [:]
                return .lead
            }
            waiting[key]?[waiter.number] = waiter
            return nil
        } leave: { waiting, number in
            waiting[key]?.removeValue(forKey: number)
        }
    }
}

extension KerberosError {
    var isCancellation: Bool { (underlying as? LoadError)?.code == .cancelled }
}
