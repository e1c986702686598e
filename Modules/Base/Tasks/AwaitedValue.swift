/// A value that is set once, and the tasks that wait for it.
package final class AwaitedValue<Value: Sendable>: Sendable {
    private let known = SetOnce<Value>()
    /// The streams of the waiting tasks; they end when the value is set.
    private let waiting = Followers<Void>()

    package init() {}

    /// Nil until the value is set.
    package var value: Value? { known.value }

    /// Sets the value. Only the first call has an effect.
    package func set(_ value: Value) {
        known.set(value)
        waiting.finish()
    }

    /// - Returns: the value; nil if the task is cancelled first.
    package func wait() async -> Value? {
        if Task.isCancelled { return nil }
        if known.value == nil { for await _ in waiting.follow(buffering: .bufferingNewest(1)) {} }
        return known.value
    }
}
