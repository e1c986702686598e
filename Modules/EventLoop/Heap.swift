internal import Glibc

/// Tunes the C library's heap for event loops.
enum Heap {
    /// In bytes; twice as much may stay free at the top of each heap.
    private static let largestFreed = 4 << 20

    /// Done once per process.
    private static let freed: Void = {
        var block: UnsafeMutableRawPointer?
        // Not malloc(): the compiler removes an allocation that is never used.
        guard unsafe posix_memalign(&block, 16, largestFreed) == 0 else { return }
        unsafe free(block)
    }()

    /// Lets some free memory stay with the process.
    ///
    /// glibc returns the top of a heap to the system once 128 KiB of it are free, and a few bodies of 1 MiB take more:
    /// each page was returned, and a moment later faulted in and zeroed again, which took more than half of the time
    /// for receiving them. Freeing a large block that was mapped singly raises the limit to twice the block's size
    /// (mallopt(3), `M_MMAP_THRESHOLD`); an app may well have freed one already. An app that sets the thresholds by
    /// mallopt or the environment switches this off and keeps its own.
    static func keepTop() { freed }
}
