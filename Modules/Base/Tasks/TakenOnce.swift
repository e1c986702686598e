internal import Synchronization

/// A reference that is handed out once: to the first thread that takes it, without waiting.
@safe
package struct TakenOnce<Object: AnyObject & Sendable>: ~Copyable, Sendable {
    // SAFETY: the reference is retained while it is stored here, and the exchange gives it to one taker, which releases
    // it.
    private let held: Atomic<Unmanaged<Object>?>

    package init(_ object: Object) { unsafe held = Atomic(Unmanaged.passRetained(object)) }

    deinit { _ = take() }

    /// Nil for all calls but the first.
    package func take() -> Object? {
        unsafe held.exchange(nil, ordering: .acquiringAndReleasing)?.takeRetainedValue()
    }
}
