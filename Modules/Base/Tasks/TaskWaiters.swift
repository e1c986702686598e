/// The tasks that wait in an actor for the same change of its state, each until the change or its own cancellation.
///
/// The actor keeps it as a part of its state:
///
/// ```swift
/// let (number, signal) = waiters.join()
/// await signal.wait()
/// guard waiters.wasReleased(number) else { throw CancellationError() }
/// ```
package struct TaskWaiters: Sendable {
    private var signals: [UInt64: TaskSignal] = [:]
    private var lastNumber: UInt64 = 0

    package init() {}

    /// How many tasks wait.
    package var count: Int { signals.count }

    /// Adds the calling task, which then waits for the signal and asks ``wasReleased(_:)``.
    package mutating func join() -> (number: UInt64, signal: TaskSignal) {
        lastNumber += 1
        let signal = TaskSignal()
        signals[lastNumber] = signal
        return (lastNumber, signal)
    }

    /// Ends all waits.
    package mutating func release() {
        for signal in signals.values { signal.send() }
        signals = [:]
    }

    /// Whether the wait has ended by ``release()``; it has ended by cancellation otherwise, and is forgotten here.
    package mutating func wasReleased(_ number: UInt64) -> Bool { signals.removeValue(forKey: number) == nil }
}
