/// A branch or leaf page, parsed without trust: everything that it returns lies within the page.
struct TreePage: Sendable {
    enum Kind: Sendable { case branch, leaf }

    let number: UInt64
    let kind: Kind
    private let bytes: [UInt8]
    private let nodes: [Int]

    var count: Int { nodes.count }

    init(_ bytes: [UInt8], number: UInt64, pageSize: Int) throws(PageFault) {
        func fault(_ text: String) -> PageFault { PageFault(.tree, page: number, text) }
        guard bytes.count == pageSize else { throw fault("lies beyond the end of the file") }
        guard bytes.littleEndian(UInt64.self, at: 0) == number else { throw fault("carries another number") }
        switch bytes.littleEndian(UInt16.self, at: 10) {
        case PageLayout.Flag.branch: kind = .branch
        case PageLayout.Flag.leaf: kind = .leaf
        default: throw fault("is neither branch nor leaf")
        }
        (self.number, self.bytes) = (number, bytes)
        let lower = Int(bytes.littleEndian(UInt16.self, at: 12) ?? 0)
        let upper = Int(bytes.littleEndian(UInt16.self, at: 14) ?? 0)
        guard lower >= PageLayout.headerLength, lower & 1 == 0, lower <= upper, upper <= pageSize else {
            throw fault("has bounds \(lower) and \(upper)")
        }
        nodes = stride(from: PageLayout.headerLength, to: lower, by: 2).map {
            Int(bytes.littleEndian(UInt16.self, at: $0) ?? 0)
        }
        guard nodes.count >= (kind == .branch ? 2 : 1) else { throw fault("has \(nodes.count) nodes") }
        try checkTiling(from: upper)
    }

    /// Nodes fill the page from `upper` to its end without gap or overlap, because LMDB compacts them at each change.
    private func checkTiling(from upper: Int) throws(PageFault) {
        var end = upper
        for node in nodes.sorted() {
            guard node == end, let length = nodeLength(at: node) else {
                throw PageFault(.tree, page: number, "has a node that does not fit at \(node)")
            }
            end = node + (length + 1) & ~1
        }
        guard end == bytes.count else {
            throw PageFault(.tree, page: number, "has \(bytes.count - end) bytes that belong to no node")
        }
    }

    private func nodeLength(at node: Int) -> Int? {
        guard let low = bytes.littleEndian(UInt16.self, at: node),
            let high = bytes.littleEndian(UInt16.self, at: node + 2),
            let flags = bytes.littleEndian(UInt16.self, at: node + 4),
            let key = bytes.littleEndian(UInt16.self, at: node + 6), Int(key) <= PageLayout.maximumKeyLength
        else { return nil }
        let head = PageLayout.nodeHeaderLength + Int(key)
        let length: Int
        switch (kind, flags) {
        case (.branch, _): length = head
        case (.leaf, 0): length = head + (Int(low) | Int(high) << 16)
        case (.leaf, PageLayout.nodeIsOverflow): length = head + 8
        default: return nil
        }
        return length <= bytes.count - node ? length : nil
    }
}

// MARK: Nodes

extension TreePage {
    /// A node's value: in the page, or in its own overflow pages.
    enum Value: Hashable, Sendable {
        case inside([UInt8])
        case overflow(page: UInt64, length: Int)
    }

    func key(_ index: Int) -> [UInt8] {
        let node = nodes[index]
        let start = node + PageLayout.nodeHeaderLength
        return Array(bytes[start..<start + keyLength(node)])
    }

    /// For a branch page.
    func child(_ index: Int) -> UInt64 {
        let node = nodes[index]
        return UInt64(word(node)) | UInt64(word(node + 2)) << 16 | UInt64(word(node + 4)) << 32
    }

    /// For a leaf page.
    func value(_ index: Int) -> Value {
        let node = nodes[index]
        let start = node + PageLayout.nodeHeaderLength + keyLength(node)
        let length = Int(word(node)) | Int(word(node + 2)) << 16
        guard word(node + 4) == PageLayout.nodeIsOverflow else { return .inside(Array(bytes[start..<start + length])) }
        return .overflow(page: bytes.littleEndian(UInt64.self, at: start) ?? PageLayout.noPage, length: length)
    }

    private func keyLength(_ node: Int) -> Int { Int(word(node + 6)) }
    private func word(_ offset: Int) -> UInt16 { bytes.littleEndian(UInt16.self, at: offset) ?? 0 }
}
