internal import Synchronization

/// The latest of a few values, which any thread reads without waiting.
///
/// Earlier values are kept until the end, since a thread may still be reading one: suitable for what changes a few
/// times.
@safe
package struct Latest<Value: Sendable>: ~Copyable, Sendable {
    private final class Entry: Sendable {
        let value: Value
        let earlier: Entry?

        init(_ value: Value, after earlier: Entry?) { (self.value, self.earlier) = (value, earlier) }
    }

    // SAFETY: the newest entry is retained by this value until its deinit, and each earlier one by its successor, which
    // is stored before the earlier one is released. So a loaded entry lives as long as this value.
    private let newest: Atomic<Unmanaged<Entry>?>

    package init() { unsafe newest = Atomic(nil) }

    deinit { unsafe newest.load(ordering: .acquiring)?.release() }

    /// Nil until a value is set.
    package var value: Value? {
        unsafe newest.load(ordering: .acquiring)?.takeUnretainedValue().value
    }

    package func set(_ value: Value) {
        var expected = unsafe newest.load(ordering: .acquiring)
        while true {
            let entry = unsafe Unmanaged.passRetained(
                Entry(value, after: expected?.takeUnretainedValue()))
            let (isSet, present) = unsafe newest.compareExchange(
                expected: expected, desired: entry, ordering: .acquiringAndReleasing)
            if isSet {
                unsafe expected?.release()
                return
            }
            unsafe entry.release()
            unsafe expected = present
        }
    }
}
