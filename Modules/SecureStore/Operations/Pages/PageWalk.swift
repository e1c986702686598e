/// Walks one tree of a data file and trusts nothing in it: page numbers, bounds, order, depth and counts are checked,
/// and no page is visited twice, so that the walk ends on any input.
///
/// Damage is added to the report, and the walk continues with other pages.
struct PageWalk<Source: PageSource> {
    /// A key and the place of its value.
    struct Entry {
        let key: [UInt8]
        let page: UInt64
        let value: TreePage.Value
    }

    /// The order of the keys.
    enum Order { case bytes, littleEndianIntegers }

    let source: Source
    let pageSize: Int
    let order: Order
    let kind: StoreFinding.Kind
    private(set) var use: PageUse
    private(set) var report: VerificationReport
    private var found = Counts()

    private struct Counts {
        var branchPages: UInt64 = 0
        var leafPages: UInt64 = 0
        var overflowPages: UInt64 = 0
        var entries: UInt64 = 0
    }

    /// The keys of a page are at least `lower` and less than `upper`.
    private struct Bounds {
        var lower: [UInt8]?
        var upper: [UInt8]?
    }

    init(
        _ source: Source, pageSize: Int, order: Order, kind: StoreFinding.Kind, use: PageUse,
        report: VerificationReport
    ) {
        (self.source, self.pageSize, self.order, self.kind) = (source, pageSize, order, kind)
        (self.use, self.report) = (use, report)
    }

    /// Walks the tree and gives each entry to `body`, in order.
    mutating func run(
        _ tree: TreeDescription, _ body: (Entry, inout PageWalk) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard tree.depth <= PageLayout.maximumDepth else {
            return add("A tree has \(tree.depth) levels.", page: tree.root)
        }
        guard (tree.root == PageLayout.noPage) == (tree.depth == 0) else {
            return add("A tree of \(tree.depth) levels has its root at \(tree.root).", page: nil)
        }
        found = Counts()
        if tree.depth > 0 { try visit(tree.root, levels: tree.depth, Bounds(), body) }
        compare(tree)
    }

    /// The bytes of a value; if some are missing, nil, and the report has a finding.
    mutating func bytes(of entry: Entry) throws(StoreError) -> [UInt8]? {
        switch entry.value {
        case .inside(let bytes): return bytes
        case .overflow(let page, let length):
            let bytes = try source.bytes(
                at: Int(clamping: page) &* pageSize + PageLayout.headerLength, count: length)
            if bytes.count == length { return bytes }
            add("Page \(page) begins a value that the file does not hold whole.", page: page)
            return nil
        }
    }

    mutating func add(_ message: String, page: UInt64?) {
        report.add(StoreFinding(kind: kind, page: page, message: message))
    }

    mutating func claim(_ page: UInt64, for use: PageUse.Use) -> Bool {
        guard let objection = self.use.claim(page, for: use) else { return true }
        add("Page \(page) \(objection).", page: page)
        return false
    }
}

// MARK: Pages

extension PageWalk {
    /// No deeper than ``PageLayout/maximumDepth``.
    private mutating func visit(
        _ number: UInt64, levels: Int, _ bounds: Bounds,
        _ body: (Entry, inout PageWalk) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard claim(number, for: .tree) else { return }
        guard let page = try load(number, isLeaf: levels == 1) else { return }
        checkKeys(of: page, within: bounds)
        guard page.kind == .branch else { return try visit(entriesOf: page, body) }
        found.branchPages += 1
        for index in 0..<page.count {
            let inner = Bounds(
                lower: index == 0 ? bounds.lower : page.key(index),
                upper: index + 1 < page.count ? page.key(index + 1) : bounds.upper)
            try visit(page.child(index), levels: levels - 1, inner, body)
        }
    }

    private mutating func load(_ number: UInt64, isLeaf: Bool) throws(StoreError) -> TreePage? {
        let bytes = try source.bytes(at: Int(clamping: number) &* pageSize, count: pageSize)
        do throws(PageFault) {
            let page = try TreePage(bytes, number: number, pageSize: pageSize)
            guard (page.kind == .leaf) == isLeaf else {
                throw PageFault(kind, page: number, "is a \(page.kind) at the wrong level")
            }
            return page
        } catch {
            add("Page \(error.page) \(error.text).", page: error.page)
            return nil
        }
    }

    /// The first key of a branch page has no meaning; LMDB does not read it.
    private mutating func checkKeys(of page: TreePage, within bounds: Bounds) {
        var last: [UInt8]?
        for index in (page.kind == .branch ? 1 : 0)..<page.count {
            let key = page.key(index)
            if order == .littleEndianIntegers, key.count != 8 {
                return add("Page \(page.number) has a key of \(key.count) bytes.", page: page.number)
            }
            if let last, !precedes(last, key) {
                return add("Page \(page.number) has keys that do not ascend.", page: page.number)
            }
            if let lower = bounds.lower, precedes(key, lower) {
                return add("Page \(page.number) has a key below its branch's.", page: page.number)
            }
            if let upper = bounds.upper, !precedes(key, upper) {
                return add("Page \(page.number) has a key above its branch's.", page: page.number)
            }
            last = key
        }
    }

    private func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        switch order {
        case .bytes: left.precedes(right)
        case .littleEndianIntegers:
            left.littleEndian(UInt64.self, at: 0) ?? 0 < right.littleEndian(UInt64.self, at: 0) ?? 0
        }
    }

    private mutating func visit(
        entriesOf page: TreePage, _ body: (Entry, inout PageWalk) throws(StoreError) -> Void
    ) throws(StoreError) {
        found.leafPages += 1
        for index in 0..<page.count {
            found.entries += 1
            let entry = Entry(key: page.key(index), page: page.number, value: page.value(index))
            guard try claimOverflow(of: entry) else { continue }
            try body(entry, &self)
        }
    }

    /// Claims the pages of a value that is stored outside the tree; false if they are not as they should be.
    private mutating func claimOverflow(of entry: Entry) throws(StoreError) -> Bool {
        guard case .overflow(let first, let length) = entry.value else { return true }
        let pages = PageLayout.overflowPages(for: length, pageSize: pageSize)
        found.overflowPages += pages
        guard first < UInt64(use.count) else {
            add("Page \(entry.page) has a value at page \(first), which is not of this snapshot.", page: entry.page)
            return false
        }
        let head = try source.bytes(at: Int(clamping: first) &* pageSize, count: PageLayout.headerLength)
        guard head.littleEndian(UInt64.self, at: 0) == first,
            head.littleEndian(UInt16.self, at: 10) == PageLayout.Flag.overflow,
            head.littleEndian(UInt32.self, at: 12).map(UInt64.init) == pages
        else {
            add("Page \(first) does not begin a value of \(length) bytes.", page: first)
            return false
        }
        guard Int(clamping: first) &* pageSize + PageLayout.headerLength + length <= source.length else {
            add("Page \(first) begins a value that the file does not hold whole.", page: first)
            return false
        }
        for page in first..<first + pages where !claim(page, for: .overflow) { return false }
        return true
    }

    private mutating func compare(_ tree: TreeDescription) {
        let counts: [(String, UInt64, UInt64)] = [
            ("branch pages", found.branchPages, tree.branchPages), ("leaf pages", found.leafPages, tree.leafPages),
            ("overflow pages", found.overflowPages, tree.overflowPages), ("entries", found.entries, tree.entries),
        ]
        for (name, found, expected) in counts where found != expected {
            add("A tree has \(found) \(name) where its root says \(expected).", page: nil)
        }
    }
}
