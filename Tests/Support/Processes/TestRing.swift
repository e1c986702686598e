internal import Foundation

/// The number of this process among those that run tests at the same time, which share the machine's ports and
/// addresses.
enum TestRing {
    /// The greatest number of such processes.
    static let count = 7
    /// Less than ``count``; 0 if there is only one process.
    static let number =
        ProcessInfo.processInfo.environment["SALLYPORT_TEST_RING"].flatMap { Int($0) }
        .map { min(max(0, $0), count - 1) } ?? 0
}
