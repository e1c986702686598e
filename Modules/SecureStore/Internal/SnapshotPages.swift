internal import CLMDB
internal import Glibc

/// The mapped pages that a snapshot uses. Only this type turns what LMDB returns into a buffer.
///
/// LMDB trusts the pages that it reads. One flipped bit in a length makes a value extend beyond its page or beyond the
/// file. One in a page number leads to an unused page that still holds complete older records, which their keys
/// decrypt. So before any byte of a value is read, it is checked that the value lies within its page, that the page
/// lies within the map and the file and is in use, and that the value's length is one that the store writes.
struct SnapshotPages: Sendable {
    /// The number of the transaction that made the snapshot.
    let transaction: UInt64
    private let map: FileMap
    private let pageShift: Int
    private var pageSize: Int { 1 << pageShift }
    /// How many pages the snapshot can have. Those that were freed before they were ever written may lie beyond the end
    /// of the file.
    private let pageCount: Int
    /// How many bytes of the map may be read: up to the last page, and as far as the file goes.
    private let end: Int
    /// A bit for each page before ``end`` that the snapshot does not use.
    private var free: [UInt64] = []

    /// `MDB_PAGE_HEADER`: `mp_flags`, `mp_upper`, and, on the first page of a large value, `mp_pages` in the place of
    /// `mp_upper`.
    private static let flagsOffset = 10
    private static let pagesOffset = 12
    private static let upperOffset = 14

    /// Reads a snapshot's list of free pages. LMDB allows only read transactions to look at it.
    init(_ tree: OpaquePointer, _ environment: OpaquePointer, _ map: FileMap) throws(StoreError) {
        transaction = UInt64(unsafe mdb_txn_id(tree))
        self.map = map
        var status = MDB_stat()
        // FREE_DBI, as `mdb_stat -f` reads it.
        try Environment.check(unsafe mdb_stat(tree, 0, &status))
        guard PageLayout.isPageSize(Int(status.ms_psize)) else { throw Self.damaged }
        pageShift = status.ms_psize.trailingZeroBitCount
        pageCount = unsafe try Self.countPages(environment, transaction, map, pageShift)
        end = unsafe try min(pageCount, Self.fileLength(environment) >> pageShift) << pageShift
        try unsafe readFreeList(tree)
    }

    private static func countPages(
        _ environment: OpaquePointer, _ transaction: UInt64, _ map: FileMap, _ pageShift: Int
    ) throws(StoreError) -> Int {
        var info = unsafe MDB_envinfo()
        try Environment.check(unsafe mdb_env_info(environment, &info))
        let mapped = map.length >> pageShift
        // An older snapshot has no page after the newest snapshot's last one. For a newer one, which another process
        // has just committed, only the map is known: LMDB begins no transaction whose pages lie outside of it.
        guard transaction <= UInt64(unsafe info.me_last_txnid), let last = Int(exactly: unsafe info.me_last_pgno),
            (0..<mapped).contains(last)
        else { return mapped }
        return last + 1
    }

    private static func fileLength(_ environment: OpaquePointer) throws(StoreError) -> Int {
        var descriptor: Int32 = -1
        try Environment.check(unsafe mdb_env_get_fd(environment, &descriptor))
        var file = stat()
        guard unsafe fstat(descriptor, &file) == 0 else { throw Files.failure("look at", Environment.fileName) }
        return Int(file.st_size)
    }

    private mutating func readFreeList(_ tree: OpaquePointer) throws(StoreError) {
        var cursor: OpaquePointer?
        try Environment.check(unsafe mdb_cursor_open(tree, 0, &cursor))
        defer { unsafe mdb_cursor_close(cursor) }
        var key = unsafe MDB_val()
        var list = unsafe MDB_val()
        var result = unsafe mdb_cursor_get(cursor, &key, &list, MDB_FIRST)
        while result == 0 {
            try unsafe add(buffer(list, upTo: end))
            result = unsafe mdb_cursor_get(cursor, &key, &list, MDB_NEXT)
        }
        guard result == MDB_NOTFOUND else { throw Environment.failure(result) }
    }

    /// Adds an `MDB_IDL`: a count, and as many page numbers. One flipped bit makes a number that is far greater than
    /// any of the snapshot: it is refused before memory is taken for its bit.
    private mutating func add(_ list: UnsafeRawBufferPointer) throws(StoreError) {
        let numbers = list.count / 8
        let count = numbers > 0 ? unsafe list.loadUnaligned(as: UInt64.self) : 0
        guard count < UInt64(max(numbers, 1)) else { throw Self.damaged }
        for index in 0..<Int(count) {
            let page = unsafe list.loadUnaligned(fromByteOffset: 8 + 8 * index, as: UInt64.self)
            guard page < UInt64(pageCount) else { throw Self.damaged }
            // What lies beyond the end of the file is refused without its bit.
            guard page < UInt64(end >> pageShift) else { continue }
            let word = Int(page >> 6)
            if word >= free.count { free += [UInt64](repeating: 0, count: word + 1 - free.count + free.count / 2) }
            free[word] |= 1 << (page & 63)
        }
    }

    static var damaged: StoreError { StoreError(.damaged, "LMDB's tree is damaged: it leads to unused pages.") }
}

// MARK: Checks of what LMDB returns

extension SnapshotPages {
    /// - Throws: ``StoreError/Code/damaged`` if this cannot be a record of the snapshot.
    func record(_ value: MDB_val) throws(StoreError) -> UnsafeRawBufferPointer {
        unsafe try buffer(value, upTo: RecordCipher.maximumLength)
    }

    /// - Throws: ``StoreError/Code/damaged`` if this cannot be a record's place.
    func place(_ value: MDB_val) throws(StoreError) -> UnsafeRawBufferPointer {
        unsafe try buffer(value, upTo: RecordCipher.maximumPlaceLength)
    }

    private func buffer(_ value: MDB_val, upTo limit: Int) throws(StoreError) -> UnsafeRawBufferPointer {
        // For an address below the map, the difference wraps around to a number larger than any map.
        let offset = unsafe UInt(bitPattern: value.mv_data) &- map.start
        let count = unsafe value.mv_size
        guard count > 0, count <= limit, offset < UInt(end), count <= end - Int(offset) else { throw Self.damaged }
        let page = Int(offset) >> pageShift
        guard page >= PageLayout.metaPages, isUsed(page), holds(page, Int(offset) & (pageSize - 1), count) else {
            throw Self.damaged
        }
        return unsafe UnsafeRawBufferPointer(start: value.mv_data, count: count)
    }

    private func isUsed(_ page: Int) -> Bool {
        let word = page >> 6
        return word >= free.count || free[word] & (1 << UInt64(page & 63)) == 0
    }

    /// Whether a page, which lies within the file, contains `count` bytes of a value at an offset.
    private func holds(_ page: Int, _ offset: Int, _ count: Int) -> Bool {
        guard let header = unsafe UnsafeRawPointer(bitPattern: map.start + UInt(page << pageShift)) else {
            return false
        }
        let flags = unsafe header.load(fromByteOffset: Self.flagsOffset, as: UInt16.self)
        guard flags & PageLayout.Flag.overflow == 0 else {
            // These bytes lie within the file, as was checked before.
            let pages = Int(unsafe header.load(fromByteOffset: Self.pagesOffset, as: UInt32.self))
            return offset == PageLayout.headerLength && count <= pages << pageShift - offset
        }
        // The bytes below `mp_upper` are not in use: they may hold remains of values that have moved.
        let upper = Int(unsafe header.load(fromByteOffset: Self.upperOffset, as: UInt16.self))
        return flags & PageLayout.Flag.leaf != 0 && offset >= upper && count <= pageSize - offset
    }
}
