/// Which pages of a snapshot are in use, and for what; a page that is claimed twice is damage.
struct PageUse: Sendable {
    enum Use: UInt8, Sendable { case nothing, meta, tree, overflow, free }

    private var uses: [Use]

    /// - Parameter pages: the number of the snapshot's pages, including the two meta pages.
    init(pages: Int) {
        uses = [Use](repeating: .nothing, count: max(pages, PageLayout.metaPages))
        for page in 0..<PageLayout.metaPages { uses[page] = .meta }
    }

    var count: Int { uses.count }

    /// Claims a page. Nil if it was unclaimed; otherwise the conflicting use.
    mutating func claim(_ page: UInt64, for use: Use) -> String? {
        guard page < UInt64(uses.count) else { return "is not of this snapshot" }
        let index = Int(page)
        guard uses[index] == .nothing else { return "is used twice (\(uses[index]), \(use))" }
        uses[index] = use
        return nil
    }

    func pages(used use: Use) -> Int { uses.count { $0 == use } }

    /// The first pages that are neither used nor free.
    func unclaimed(atMost limit: Int) -> [UInt64] {
        Array(uses.indices.lazy.filter { uses[$0] == .nothing }.prefix(limit).map(UInt64.init))
    }
}
