/// One of the two pages with which a data file begins: the root of a snapshot (`MDB_meta`).
struct MetaPage: Hashable, Sendable {
    /// Header and content, in bytes; they fit into the page's first sector, which a disk writes as a whole.
    static let length = PageLayout.headerLength + 136
    private static let freeListFlags: UInt16 = 0x08

    let pageSize: Int
    let freeList: TreeDescription
    let records: TreeDescription
    let lastPage: UInt64
    let transaction: UInt64

    /// - Throws: the page's fault. LMDB itself would trust most of the content.
    init(_ bytes: [UInt8], number: UInt64) throws(PageFault) {
        func fault(_ text: String) -> PageFault { PageFault(.metaPage, page: number, text) }
        guard bytes.count >= Self.length else { throw fault("is cut short") }
        guard bytes.littleEndian(UInt64.self, at: 0) == number,
            bytes.littleEndian(UInt16.self, at: 10) == PageLayout.Flag.meta
        else { throw fault("is not a meta page") }
        guard bytes.littleEndian(UInt32.self, at: 16) == PageLayout.magic,
            bytes.littleEndian(UInt32.self, at: 20) == PageLayout.version
        else { throw fault("is not of LMDB 0.9") }
        guard let mapSize = bytes.littleEndian(UInt64.self, at: 32),
            let pageSize = bytes.littleEndian(UInt32.self, at: 40).map(Int.init),
            let freeList = TreeDescription(bytes, at: 40), let records = TreeDescription(bytes, at: 88),
            let lastPage = bytes.littleEndian(UInt64.self, at: 136),
            let transaction = bytes.littleEndian(UInt64.self, at: 144)
        else { throw fault("is cut short") }
        guard PageLayout.isPageSize(pageSize) else { throw fault("names a page size of \(pageSize)") }
        // LMDB maps as much as the newest meta page says, and at least the size of its snapshot.
        guard mapSize <= UInt64(Environment.largestSize), mapSize % UInt64(pageSize) == 0,
            lastPage < mapSize / UInt64(pageSize)
        else { throw fault("maps \(mapSize) bytes and has \(lastPage) pages") }
        guard freeList.flags == Self.freeListFlags, records.flags == 0 else {
            throw fault("gives its trees flags that this store never sets")
        }
        (self.pageSize, self.freeList, self.records) = (pageSize, freeList, records)
        (self.lastPage, self.transaction) = (lastPage, transaction)
    }
}
