internal import CLMDB
internal import Glibc
internal import SallyportBase

/// One LMDB transaction on the store's tree; aborted unless committed.
///
/// Values are copied: no method returns anything that points into the map. Methods throw once the transaction has
/// ended. All reading precedes the first change: until then, everything that LMDB returns lies in the map, where
/// ``SnapshotPages`` can check it, and not in memory that LMDB has allocated.
@safe
final class Tree {
    private let transaction: OpaquePointer
    private let database: MDB_dbi
    private var isOpen = true
    private var isReset = false
    private var isChanged = false
    private let isReadOnly: Bool
    private let environment: Environment
    private var pages: SnapshotPages?

    init(transaction: OpaquePointer, database: MDB_dbi, environment: Environment, isReadOnly: Bool) {
        unsafe self.transaction = transaction
        self.database = database
        self.environment = environment
        self.isReadOnly = isReadOnly
    }

    deinit { abort() }

    /// For a reader: the number of the commit that it sees.
    var identifier: UInt64 { UInt64(unsafe mdb_txn_id(transaction)) }

    /// Releases a reader's snapshot. ``renew()`` then takes a new one at a lower cost than a new transaction.
    func reset() {
        guard isOpen else { return }
        isOpen = false
        isReset = true
        unsafe mdb_txn_reset(transaction)
    }

    func renew() throws(StoreError) {
        let result = unsafe mdb_txn_renew(transaction)
        guard result == 0 else { throw Environment.failure(result) }
        isReset = false
        isOpen = true
        // The last snapshot's pages, if there was no commit since.
        if pages?.transaction != identifier { pages = nil }
    }

    /// Ends the transaction and discards its changes. Idempotent.
    func abort() {
        guard isOpen || isReset else { return }
        isOpen = false
        isReset = false
        unsafe mdb_txn_abort(transaction)
    }

    /// Commits durably.
    func commit() throws(StoreError) {
        try checkOpen()
        isOpen = false
        try Environment.check(unsafe mdb_txn_commit(transaction), of: environment.path)
    }

    private func checkOpen() throws(StoreError) {
        guard isOpen else { throw StoreError(.closed, "The transaction is over.") }
    }

    /// The pages that check the values of the transaction's snapshot.
    private func readable() throws(StoreError) -> SnapshotPages {
        try checkOpen()
        guard !isChanged else {
            throw StoreError(.internalFailure, "A transaction was read behind its first change.")
        }
        if let pages { return pages }
        let found = unsafe try environment.pages(of: transaction, isReadOnly: isReadOnly)
        pages = found
        return found
    }

    func value(at place: [UInt8]) throws(StoreError) -> [UInt8]? {
        guard let found = unsafe try found(at: place) else { return nil }
        return unsafe Array(found)
    }

    /// As ``value(at:)``, and lets the system reclaim the mapped pages of the value, so that reading much data once
    /// does not fill the memory. Other readers load the pages again.
    func valueReadOnce(at place: [UInt8]) throws(StoreError) -> [UInt8]? {
        guard let found = unsafe try found(at: place) else { return nil }
        let bytes = unsafe Array(found)
        let mask = UInt(sysconf(Int32(_SC_PAGESIZE))) - 1
        let start = UInt(bitPattern: found.baseAddress) & ~mask
        let end = (UInt(bitPattern: found.baseAddress) + UInt(found.count)) & ~mask
        if end > start {
            unsafe _ = madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_DONTNEED)
        }
        return bytes
    }

    private func found(at place: [UInt8]) throws(StoreError) -> UnsafeRawBufferPointer? {
        let pages = try readable()
        var found = unsafe MDB_val()
        let result = unsafe Self.withValue(of: place) { unsafe mdb_get(transaction, database, &$0, &found) }
        return unsafe try Self.record(found, result, in: pages)
    }

    /// The record that a look-up found; nil if it found nothing.
    private static func record(
        _ found: MDB_val, _ result: Int32, in pages: SnapshotPages
    ) throws(StoreError) -> UnsafeRawBufferPointer? {
        if result == MDB_NOTFOUND { return nil }
        try Environment.check(result)
        return unsafe try pages.record(found)
    }

    /// The record's bytes in the map, valid until the transaction ends; nil if there is none.
    func find(_ place: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
        let pages = try readable()
        // LMDB takes a mutable pointer but does not write through it.
        var key = unsafe MDB_val(
            mv_size: place.count, mv_data: UnsafeMutableRawPointer(mutating: place.baseAddress))
        var found = unsafe MDB_val()
        let result = unsafe mdb_get(transaction, database, &key, &found)
        return unsafe try Self.record(found, result, in: pages)
    }

    func put(_ value: [UInt8], at place: [UInt8]) throws(StoreError) {
        try checkOpen()
        isChanged = true
        let result = unsafe Self.withValue(of: place) { key in
            unsafe Self.withValue(of: value) { unsafe mdb_put(transaction, database, &key, &$0, 0) }
        }
        try Environment.check(result)
    }

    func remove(at place: [UInt8]) throws(StoreError) {
        try checkOpen()
        isChanged = true
        let result = unsafe Self.withValue(of: place) { unsafe mdb_del(transaction, database, &$0, nil) }
        if result == MDB_NOTFOUND { return }
        try Environment.check(result)
    }

    /// Calls `body` with each record whose place begins with `prefix`, in the tree's order, until it returns false.
    func forEach(
        prefix: [UInt8], _ body: (_ place: [UInt8], _ record: [UInt8]) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try unsafe scan(from: prefix) { place, record throws(StoreError) in
            guard unsafe place.starts(with: prefix) else { return false }
            return try unsafe body(Array(place), Array(record))
        }
    }

    /// The first record at or after `start`, if its place begins with `prefix`.
    func first(
        from start: [UInt8], prefix: [UInt8]
    ) throws(StoreError) -> (place: [UInt8], record: [UInt8])? {
        var found: (place: [UInt8], record: [UInt8])?
        try unsafe scan(from: start) { place, record throws(StoreError) in
            if unsafe place.starts(with: prefix) { found = unsafe (Array(place), Array(record)) }
            return false
        }
        return found
    }

    /// The last record at or before `end`, if its place begins with `prefix`.
    func last(upTo end: [UInt8], prefix: [UInt8]) throws(StoreError) -> (place: [UInt8], record: [UInt8])? {
        let pages = try readable()
        var cursor = unsafe try TreeCursor(transaction, database, at: end)
        if cursor.result == MDB_NOTFOUND {
            cursor.move(MDB_LAST)
        } else if cursor.result == 0 {
            let isThere = unsafe try pages.place(cursor.place).elementsEqual(end)
            if !isThere { cursor.move(MDB_PREV) }
        }
        guard let record = unsafe try Self.record(cursor.record, cursor.result, in: pages) else { return nil }
        let place = unsafe try Array(pages.place(cursor.place))
        guard place.starts(with: prefix), !end.lexicographicallyPrecedes(place) else { return nil }
        return unsafe (place, Array(record))
    }

    /// Calls `body` with the bytes in the map of each record from `start` on, in the tree's order, until it returns
    /// false; no pointer may outlive the call.
    func scan(
        from start: [UInt8],
        _ body: (_ place: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let pages = try readable()
        var cursor = unsafe try TreeCursor(transaction, database, at: start)
        var last = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        while cursor.result == 0 {
            let place = unsafe try pages.place(cursor.place)
            guard unsafe Self.isAscending(last, place) else { throw SnapshotPages.damaged }
            guard try unsafe body(place, pages.record(cursor.record)) else { return }
            unsafe last = unsafe place
            cursor.move(MDB_NEXT)
        }
        guard cursor.result == MDB_NOTFOUND else { throw Environment.failure(cursor.result) }
    }

    /// Places are in ascending order in an intact tree.
    private static func isAscending(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard let leftStart = left.baseAddress, let rightStart = right.baseAddress else { return true }
        let order = unsafe memcmp(leftStart, rightStart, min(left.count, right.count))
        return order < 0 || (order == 0 && left.count < right.count)
    }

    private static func withValue<Result>(of value: [UInt8], _ body: (inout MDB_val) -> Result) -> Result {
        unsafe value.withUnsafeBytes { bytes in
            // LMDB takes a mutable pointer but does not write through it.
            var value = unsafe MDB_val(
                mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return unsafe body(&value)
        }
    }
}
