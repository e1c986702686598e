/// Which pages of a snapshot were claimed, and by what; a page that is claimed twice is damage.
struct PageUse: Sendable {
    enum Use: UInt8, Sendable { case nothing, meta, tree, overflow, free }

    private var uses: [Use]

    /// - Parameter pages: how many the snapshot has; two of them are the meta pages.
    init(pages: Int) {
        uses = [Use](repeating: .nothing, count: max(pages, PageLayout.metaPages))
        for page in 0..<PageLayout.metaPages { uses[page] = .meta }
    }

    var count: Int { uses.count }

    /// nil where the page was free to be claimed; else what stands against it.
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
