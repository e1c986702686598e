internal import FoundationEssentials

/// Wall-clock time as stored in records: milliseconds since 1970.
enum StoreTime {
    static func now() -> UInt64 { milliseconds(Date()) }

    /// Clamped to the range: a date before 1970 has expired, as has one that is no number; one too far in the future
    /// never does.
    static func milliseconds(_ date: Date) -> UInt64 {
        let value = date.timeIntervalSince1970 * 1000
        guard value >= 1 else { return 0 }
        return value > 9e18 ? 9_000_000_000_000_000_000 : UInt64(value)
    }
}
