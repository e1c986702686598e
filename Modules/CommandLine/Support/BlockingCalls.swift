import Dispatch
import SallyportBase

/// Calls that may block for long, as reading a terminal: one after the other, on a thread that no task needs.
final class BlockingCalls: Sendable {
    private let queue: DispatchQueue

    init(_ name: String) { queue = DispatchQueue(label: name) }

    /// Nil where the task is cancelled before the call returns; what it returns is lost then.
    func call<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? {
        let waiting = Lock<CheckedContinuation<Value?, Never>?>(nil)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiting.withLock { $0 = continuation }
                if Task.isCancelled { waiting.withLock { $0.take() }?.resume(returning: nil) }
                queue.async {
                    let value = body()
                    waiting.withLock { $0.take() }?.resume(returning: value)
                }
            }
        } onCancel: {
            waiting.withLock { $0.take() }?.resume(returning: nil)
        }
    }
}
