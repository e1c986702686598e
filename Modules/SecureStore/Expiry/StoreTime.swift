internal import FoundationEssentials

/// Wall-clock time as records have it: milliseconds since 1970.
enum StoreTime {
    static func now() -> UInt64 { milliseconds(Date()) }

    /// Cut to what fits: a date before 1970 has expired, one in a far future has not.
    static func milliseconds(_ date: Date) -> UInt64 {
        let value = date.timeIntervalSince1970 * 1000
        return value < 1 ? 0 : value > 9e18 ? 9_000_000_000_000_000_000 : UInt64(value)
    }
}
