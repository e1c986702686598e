/// A meta page's description of one of the file's two trees (`MDB_db`).
struct TreeDescription: Hashable, Sendable {
    static let length = 48

    var flags: UInt16
    var depth: Int
    var branchPages: UInt64
    var leafPages: UInt64
    var overflowPages: UInt64
    var entries: UInt64
    var root: UInt64

    /// - Parameter offset: must be at least 48 bytes before the end of the page.
    init?(_ page: [UInt8], at offset: Int) {
        guard let flags = page.littleEndian(UInt16.self, at: offset + 4),
            let depth = page.littleEndian(UInt16.self, at: offset + 6),
            let branchPages = page.littleEndian(UInt64.self, at: offset + 8),
            let leafPages = page.littleEndian(UInt64.self, at: offset + 16),
            let overflowPages = page.littleEndian(UInt64.self, at: offset + 24),
            let entries = page.littleEndian(UInt64.self, at: offset + 32),
            let root = page.littleEndian(UInt64.self, at: offset + 40)
        else { return nil }
        (self.flags, self.depth) = (flags, Int(depth))
        (self.branchPages, self.leafPages, self.overflowPages) = (branchPages, leafPages, overflowPages)
        (self.entries, self.root) = (entries, root)
    }
}
