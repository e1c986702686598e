internal import Synchronization

/// One who waits for a value, numbered so that it can be found when its task is cancelled. Resumed once, outside of locks.
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
    /// Waits until somebody takes the waiter out of the state and resumes it, or the task is cancelled.
    ///
    /// - Parameters:
    ///   - cancelled: what a task gets that is cancelled before, or while it waits.
    ///   - enter: keeps the waiter in the state, and returns nil; or returns the value where it is known already.
    ///   - leave: takes the waiter of that number out of the state; nil where it is not there, since its value has come.
    package func wait<Value: Sendable>(
        orCancelled cancelled: Value,
        enter: (inout State, Waiter<Value>) -> Value?,
        leave: @escaping @Sendable (inout State, UInt64) -> Waiter<Value>?
    ) async -> Value {
        let number = lastNumber.add(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known = withLock { state -> Value? in
                    // Cancelled before it waits: the handler below ran already, and found nobody.
                    Task.isCancelled ? cancelled : enter(&state, Waiter(number, continuation))
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            withLock { leave(&$0, number) }?.resume(returning: cancelled)
        }
    }
}
