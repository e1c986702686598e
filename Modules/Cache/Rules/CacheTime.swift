internal import Glibc

/// A moment by the system's clock: milliseconds since 1970.
package struct CacheTime: Sendable, Hashable, Comparable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }
    package init(seconds: Int64) { milliseconds = seconds.clampedProduct(1000) }

    package static func < (left: CacheTime, right: CacheTime) -> Bool { left.milliseconds < right.milliseconds }

    /// Whole seconds from `other` until this moment; never below zero.
    package func seconds(since other: CacheTime) -> Int64 {
        guard self > other else { return 0 }
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(other.milliseconds)
        return overflow ? .max : difference / 1000
    }

    package static func system() -> CacheTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return CacheTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }
}

extension Int64 {
    func clampedProduct(_ other: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
    }

    func clampedSum(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
