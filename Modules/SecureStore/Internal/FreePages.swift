internal import CLMDB
internal import Glibc

/// The pages that a snapshot does not use.
///
/// They still hold what was once written to them: whole older records, which their keys open. LMDB has no checksums,
/// and one flipped bit in a page number can lead a reading there. A reading that ends in such a page is refused, so
/// that no older value is taken for the last one.
struct FreePages: Sendable {
    /// Of the snapshot.
    let transaction: UInt64
    private var words: [UInt64] = []
    /// Pages are told apart by their address, which works where the map is aligned to them.
    private let pageSize: Int

    private static let headerLength = 16
    /// `MDB_PAGE_HEADER`: `mp_flags` and `mp_upper`.
    private static let flagsOffset = 10
    private static let upperOffset = 14

    /// Reads the list of free pages of a snapshot: LMDB lets readers alone look at it.
    init(_ tree: OpaquePointer) throws(StoreError) {
        transaction = UInt64(unsafe mdb_txn_id(tree))
        var status = MDB_stat()
        // FREE_DBI, as `mdb_stat -f` reads it.
        try Environment.check(unsafe mdb_stat(tree, 0, &status))
        let size = Int(status.ms_psize)
        pageSize = size == sysconf(Int32(_SC_PAGESIZE)) ? size : 0
        var cursor: OpaquePointer?
        try Environment.check(unsafe mdb_cursor_open(tree, 0, &cursor))
        defer { unsafe mdb_cursor_close(cursor) }
        var key = unsafe MDB_val()
        var list = unsafe MDB_val()
        var result = unsafe mdb_cursor_get(cursor, &key, &list, MDB_FIRST)
        while result == 0 {
            try unsafe add(UnsafeRawBufferPointer(start: list.mv_data, count: list.mv_size))
            result = unsafe mdb_cursor_get(cursor, &key, &list, MDB_NEXT)
        }
        guard result == MDB_NOTFOUND else { throw Environment.failure(result) }
    }

    /// Adds an `MDB_IDL`: a count, and as many page numbers.
    private mutating func add(_ list: UnsafeRawBufferPointer) throws(StoreError) {
        let numbers = list.count / 8
        let count = numbers > 0 ? unsafe list.loadUnaligned(as: UInt64.self) : 0
        guard count < UInt64(max(numbers, 1)) else { throw Self.damaged }
        for index in 0..<Int(count) {
            let page = unsafe list.loadUnaligned(fromByteOffset: 8 + 8 * index, as: UInt64.self)
            guard page < UInt64(Environment.largestSize / 512) else { throw Self.damaged }
            let word = Int(page >> 6)
            if word >= words.count { words += [UInt64](repeating: 0, count: word + 1 - words.count + words.count / 2) }
            words[word] |= 1 << (page & 63)
        }
    }

    /// - Parameter value: what a reading found, in the map.
    /// - Throws: ``StoreError/Code/damaged`` where it does not lie in a page of the snapshot.
    func check(_ value: MDB_val) throws(StoreError) {
        guard pageSize > 0, let address = unsafe value.mv_data else { return }
        let offset = Int(bitPattern: address) & (pageSize - 1)
        let page = unsafe address - offset
        let number = unsafe page.load(as: UInt64.self)
        let word = Int(truncatingIfNeeded: number >> 6)
        guard word >= words.count || words[word] & (1 << (number & 63)) == 0 else { throw Self.damaged }
        let flags = unsafe page.load(fromByteOffset: Self.flagsOffset, as: UInt16.self)
        let isInside: Bool
        if flags & 0x04 != 0 {
            isInside = offset == Self.headerLength
        } else {
            // What lies below is what moved away.
            let upper = unsafe page.load(fromByteOffset: Self.upperOffset, as: UInt16.self)
            isInside = flags & 0x02 != 0 && offset >= Int(upper)
        }
        guard isInside else { throw Self.damaged }
    }

    static var damaged: StoreError { StoreError(.damaged, "LMDB's tree is damaged: it leads to a page out of use.") }
}
