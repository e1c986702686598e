internal import Synchronization

/// The numbers of loads and of streams: ``LoadRecord/id``.
package enum LoadNumbers {
    private static let last = Atomic(UInt64(0))

    /// Unique within the process.
    package static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}
