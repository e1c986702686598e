/// A value that comes once, and the tasks that wait for it.
package final class AwaitedValue<Value: Sendable>: Sendable {
    private let known = SetOnce<Value>()
    /// Their streams end when the value has come.
    private let waiting = Followers<Void>()

    package init() {}

    /// Nil before it has come.
    package var value: Value? { known.value }

    /// The first call counts.
    package func set(_ value: Value) {
        known.set(value)
        waiting.finish()
    }

    /// - Returns: the value; nil if the task is cancelled before.
    package func wait() async -> Value? {
        if Task.isCancelled { return nil }
        if known.value == nil { for await _ in waiting.follow(buffering: .bufferingNewest(1)) {} }
        return known.value
    }
}
