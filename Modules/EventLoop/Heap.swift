internal import Glibc

/// What loops want of the C library's heap.
enum Heap {
    /// In bytes; twice as much may stay free at the top of each heap.
    private static let largestFreed = 512 << 10

    /// Done once, whoever asks.
    private static let freed: Void = {
        var block: UnsafeMutableRawPointer?
        // Not by malloc(): what is allocated so and never looked at, the compiler leaves out.
        guard unsafe posix_memalign(&block, 16, largestFreed) == 0 else { return }
        unsafe free(block)
    }()

    /// Lets some free memory stay with the process.
    ///
    /// glibc gives the top of a heap back once 128 KiB of it are free, and the chunks of one body are more: each page was
    /// given back, and a moment later faulted in and zeroed anew, a fifth of what receiving cost. The largest block ever
    /// freed of those that are mapped singly raises that to twice its size (mallopt(3), `M_MMAP_THRESHOLD`); an app may
    /// well have freed one already. Who sets the thresholds, by mallopt or the environment, turns that off and keeps them.
    static func keepTop() { freed }
}
