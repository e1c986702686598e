internal import CLinux
internal import Glibc
internal import SallyportBase

/// A point in time of the monotonic clock, in nanoseconds, for a loop's timers.
package struct LoopInstant: Comparable, Hashable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// The same moment of the continuous clock. As far as the machine sleeps until then, it is later by that time.
    package init(_ instant: ContinuousClock.Instant) {
        self = .now.advanced(by: ContinuousClock.now.duration(to: instant))
    }

    package static var now: LoopInstant {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return LoopInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// An instant that is never reached.
    package static let never = LoopInstant(nanoseconds: .max)

    package func advanced(byNanoseconds count: Int64) -> LoopInstant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(count)
        return overflow ? .never : LoopInstant(nanoseconds: sum)
    }

    package func advanced(by duration: Duration) -> LoopInstant {
        advanced(byNanoseconds: duration.wholeNanoseconds)
    }

    package static func < (left: LoopInstant, right: LoopInstant) -> Bool { left.nanoseconds < right.nanoseconds }
}
