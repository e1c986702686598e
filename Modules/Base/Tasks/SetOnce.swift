internal import Synchronization

/// A value that is set once, and read by any thread without waiting.
package struct SetOnce<Value: Sendable>: ~Copyable, Sendable {
    private final class Box: Sendable {
        let value: Value
        init(_ value: Value) { self.value = value }
    }

    private let box = AtomicLazyReference<Box>()

    package init() {}

    /// Nil before it is set.
    package var value: Value? { box.load()?.value }

    /// Keeps the value if there is none yet.
    package func set(_ value: Value) { _ = box.storeIfNil(Box(value)) }
}
