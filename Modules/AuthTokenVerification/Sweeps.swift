/// When it is worth it to look at all entries of a memory for those that are over: when they are twice as many as after
/// the last look, or as many as there may be, and one of them is over.
///
/// A memory that is full of entries that count looks at none of them, however often it is asked. Times are Unix seconds.
struct Sweeps: Sendable {
    private static let least = 1024

    private var size = Self.least
    /// No entry is over before.
    private var earliest = Int64.max

    func isDue(_ count: Int, of limit: Int, at now: Int64) -> Bool { now >= earliest && count >= min(size, limit) }

    mutating func added(_ expiry: Int64) { earliest = min(earliest, expiry) }

    mutating func swept(leaving expiries: some Collection<Int64>) {
        size = max(Self.least, expiries.count * 2)
        earliest = expiries.min() ?? .max
    }
}
