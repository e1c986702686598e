internal import Foundation

/// Which of the processes this is that run tests side by side: what is shared by all of a machine is divided among them.
enum TestRing {
    /// At most.
    static let count = 4
    /// Below ``count``; 0 where there is one process.
    static let number =
        ProcessInfo.processInfo.environment["SALLYPORT_TEST_RING"].flatMap { Int($0) }
        .map { min(max(0, $0), count - 1) } ?? 0
}
