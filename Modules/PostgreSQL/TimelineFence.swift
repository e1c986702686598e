#if PostgreSQL
/// Which timelines of a database may be used: PostgreSQL begins a higher one when a standby is promoted, so that a primary
/// with a lower one than was seen before is an old one that has woken. It takes writes all the same, which are lost when it
/// follows the new primary.
struct TimelineFence: Sendable, Hashable {
    private(set) var newest: UInt32 = 0

    /// - Parameter timeline: nil if a server does not tell, as some managed ones.
    mutating func admits(_ timeline: UInt32?) -> Bool {
        guard let timeline else { return true }
        newest = max(newest, timeline)
        return timeline == newest
    }

    /// The timeline in the name of a segment of the write-ahead log: its first eight digits.
    static func timeline(ofSegment name: String) -> UInt32? {
        name.utf8.count == 24 ? UInt32(name.prefix(8), radix: 16) : nil
    }
}
#endif
