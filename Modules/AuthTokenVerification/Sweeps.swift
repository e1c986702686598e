/// When it is worth it to look at all entries of a memory for those that are over: when they are twice as many as after
/// the last look, or as many as there may be, and one of them is over.
///
/// A memory that is full of entries that count looks at none of them, however often it is asked. Times are Unix seconds.
struct Sweeps: Sendable {
    private static let least = 1024

    private var size = Self.least
    /// No entry is over before.
    private var earliest = Int64.max
    /// The latest end of an entry that was dropped.
    ///
    /// An entry that was dropped while the clock was ahead may count again once the clock is right. So what ends no
    /// later than this is not taken for new. As long as the clock only goes forward, nothing is refused for it: this is
    /// never above the present time.
    private(set) var floor = Int64.min

    func isDue(_ count: Int, of limit: Int, at now: Int64) -> Bool { now >= earliest && count >= min(size, limit) }

    mutating func added(_ expiry: Int64) { earliest = min(earliest, expiry) }

    /// Drops the entries that are over.
    mutating func drop<Entry>(from entries: inout [String: Entry], at now: Int64, endingAt time: (Entry) -> Int64) {
        var (earliest, floor) = (Int64.max, floor)
        entries = entries.filter { _, entry in
            let end = time(entry)
            if end > now { earliest = min(earliest, end) } else { floor = max(floor, end) }
            return end > now
        }
        (self.earliest, self.floor) = (earliest, floor)
        size = max(Self.least, entries.count * 2)
    }
}
