internal import Synchronization

/// A task that waits for a value, numbered so that it can be found when it is cancelled. It is resumed once, outside
/// locks.
package struct Waiter<Value: Sendable>: Sendable {
    package let number: UInt64
    private let continuation: CheckedContinuation<Value, Never>

    fileprivate init(_ number: UInt64, _ continuation: CheckedContinuation<Value, Never>) {
        self.number = number
        self.continuation = continuation
    }

    package func resume(returning value: Value) { continuation.resume(returning: value) }
}

private let lastNumber = Atomic<UInt64>(0)

extension Lock where State: Sendable {
    /// Waits until the waiter is taken out of the state and resumed, or the task is cancelled.
    ///
    /// - Parameters:
    ///   - cancelled: the result if the task is cancelled before or while it waits.
    ///   - enter: stores the waiter in the state and returns nil, or returns the value if it is already known.
    ///   - leave: takes the waiter of that number out of the state; nil if it is not there because its value has come.
    package func wait<Value: Sendable>(
        orCancelled cancelled: Value,
        enter: (inout State, Waiter<Value>) -> Value?,
        leave: @escaping @Sendable (inout State, UInt64) -> Waiter<Value>?
    ) async -> Value {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = withLock { state -> Value? in
                    // Cancelled before it waited: the handler below has already run and found no waiter.
                    Task.isCancelled ? cancelled : enter(&state, Waiter(number, continuation))
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            withLock { leave(&$0, number) }?.resume(returning: cancelled)
        }
    }
}
