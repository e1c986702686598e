internal import Glibc

/// Milliseconds of the clock that all processes of the machine share, and that is never set.
package func monotonicMilliseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
}
