@testable import SallyportSecureStore

/// A data file in memory, for checks of files without a writer.
struct DataImage: PageSource {
    var content: [UInt8]
    var length: Int { content.count }

    func bytes(at offset: Int, count: Int) throws(StoreError) -> [UInt8] {
        guard offset >= 0, offset < content.count, count > 0 else { return [] }
        return Array(content[offset..<min(content.count, offset + count)])
    }
}

/// Where what lies in a sound data file: told by reading it with trust.
struct DataMap {
    /// What a byte is part of.
    enum Part: String, CaseIterable, Sendable {
        case meta, branch, leafHeader, leafKey, leafValue, overflowHeader, overflowValue, freeList
        /// Space in these pages that nothing lies in.
        case unused
    }

    /// Every byte of the pages that the newest snapshot uses.
    private(set) var bytes: [Part: [Int]] = [:]
    private let image: DataImage
    private let pageSize: Int

    init(_ image: DataImage) throws {
        self.image = image
        let metas = try MetaPages(image)
        pageSize = metas.newest.pageSize
        for page in 0..<2 { add(.meta, page * pageSize..<page * pageSize + MetaPage.length) }
        if metas.newest.records.depth > 0 { try walk(metas.newest.records.root) }
        if metas.newest.freeList.depth > 0 { try walkFreeList(metas.newest.freeList.root) }
    }

    private mutating func add(_ part: Part, _ range: Range<Int>) { bytes[part, default: []] += range }

    private func word(_ offset: Int) -> Int { Int(image.content[offset]) | Int(image.content[offset + 1]) << 8 }

    private func page(_ number: UInt64) throws -> (TreePage, Range<Int>, nodes: [Int]) {
        let start = Int(number) * pageSize
        let page = try TreePage(Array(image.content[start..<start + pageSize]), number: number, pageSize: pageSize)
        let nodes = (0..<page.count).map { start + word(start + PageLayout.headerLength + 2 * $0) }
        return (page, start..<start + pageSize, nodes)
    }

    private mutating func walk(_ number: UInt64) throws {
        let (page, range, nodes) = try page(number)
        guard page.kind == .leaf else {
            let used = PageLayout.headerLength + 2 * page.count
            add(.branch, range.lowerBound..<range.lowerBound + used)
            add(.unused, range.lowerBound + used..<(nodes.min() ?? range.upperBound))
            for (index, node) in nodes.enumerated() {
                add(.branch, node..<node + PageLayout.nodeHeaderLength + word(node + 6))
                try walk(page.child(index))
            }
            return
        }
        add(.leafHeader, range.lowerBound..<range.lowerBound + PageLayout.headerLength + 2 * page.count)
        add(.unused, range.lowerBound + PageLayout.headerLength + 2 * page.count..<(nodes.min() ?? range.upperBound))
        for (index, node) in nodes.enumerated() {
            let key = node + 8..<node + 8 + word(node + 6)
            add(.leafHeader, node..<node + 8)
            add(.leafKey, key)
            switch page.value(index) {
            case .inside(let value): add(.leafValue, key.upperBound..<key.upperBound + value.count)
            case .overflow(let first, let length):
                let start = Int(first) * pageSize
                add(.leafHeader, key.upperBound..<key.upperBound + 8)
                add(.overflowHeader, start..<start + PageLayout.headerLength)
                add(.overflowValue, start + PageLayout.headerLength..<start + PageLayout.headerLength + length)
            }
        }
    }

    private mutating func walkFreeList(_ number: UInt64) throws {
        let (page, range, nodes) = try page(number)
        guard page.kind == .leaf else {
            add(.freeList, range)
            for index in 0..<page.count { try walkFreeList(page.child(index)) }
            return
        }
        add(.freeList, range.lowerBound..<range.lowerBound + PageLayout.headerLength + 2 * page.count)
        for (index, node) in nodes.enumerated() {
            guard case .inside(let value) = page.value(index) else { continue }
            add(.freeList, node..<node + 8 + word(node + 6) + value.count)
        }
    }
}
