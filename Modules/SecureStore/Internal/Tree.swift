internal import CLMDB
internal import Glibc
internal import SallyportCore

/// One LMDB transaction on the store's tree; aborted unless committed.
///
/// Values are copied out: nothing that points into the map leaves a method. Used after its end, it throws.
@safe
final class Tree {
    private let transaction: OpaquePointer
    private let database: MDB_dbi
    private var isOpen = true
    private var isReset = false
    /// From the first change on, values may lie in pages that are not in the map yet.
    private var isChanged = false
    private let isReadOnly: Bool
    private let environment: Environment
    private var freePages: FreePages?

    init(transaction: OpaquePointer, database: MDB_dbi, environment: Environment, isReadOnly: Bool) {
        unsafe self.transaction = transaction
        self.database = database
        self.environment = environment
        self.isReadOnly = isReadOnly
    }

    deinit { abort() }

    /// Of a reader: the number of the commit that it sees.
    var identifier: UInt64 { UInt64(unsafe mdb_txn_id(transaction)) }

    /// Lets go of a reader's snapshot, so that ``renew()`` takes a new one for less than making a transaction.
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
        // The last snapshot's, where there was no commit since.
        if freePages?.transaction != identifier { freePages = nil }
    }

    /// Ends the transaction without its changes. Idempotent.
    func abort() {
        guard isOpen || isReset else { return }
        isOpen = false
        isReset = false
        unsafe mdb_txn_abort(transaction)
    }

    /// Durable when it returns.
    func commit() throws(StoreError) {
        try checkOpen()
        isOpen = false
        try Environment.check(unsafe mdb_txn_commit(transaction))
    }

    private func checkOpen() throws(StoreError) {
        guard isOpen else { throw StoreError(.closed, "The transaction is over.") }
    }

    func value(at place: [UInt8]) throws(StoreError) -> [UInt8]? {
        guard let found = try unsafe found(at: place) else { return nil }
        return unsafe Self.octets(found)
    }

    /// As ``value(at:)``, and lets the system take back the mapped pages that it lay in, so that who reads much once
    /// does not fill memory with it. Readers beside find them again.
    func valueReadOnce(at place: [UInt8]) throws(StoreError) -> [UInt8]? {
        guard let found = try unsafe found(at: place) else { return nil }
        let octets = unsafe Self.octets(found)
        let mask = UInt(sysconf(Int32(_SC_PAGESIZE))) - 1
        let start = UInt(bitPattern: unsafe found.mv_data) & ~mask
        let end = (UInt(bitPattern: unsafe found.mv_data) + UInt(unsafe found.mv_size)) & ~mask
        // In a reader only, which sees the map: a writer's pages may be memory of its own.
        if isReadOnly, end > start {
            unsafe _ = madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_DONTNEED)
        }
        return octets
    }

    private func found(at place: [UInt8]) throws(StoreError) -> MDB_val? {
        try checkOpen()
        var found = unsafe MDB_val()
        let result = unsafe Self.withValue(of: place) { unsafe mdb_get(transaction, database, &$0, &found) }
        return unsafe try checked(found, result)
    }

    /// What a look-up found; nil where it found nothing.
    private func checked(_ found: MDB_val, _ result: Int32) throws(StoreError) -> MDB_val? {
        if result == MDB_NOTFOUND { return nil }
        try Environment.check(result)
        unsafe try check(found)
        return unsafe found
    }

    /// Refuses what lies in a page that the snapshot does not use.
    private func check(_ value: MDB_val) throws(StoreError) {
        if isChanged { return }
        if freePages == nil {
            freePages = unsafe try environment.freePages(of: transaction, isReadOnly: isReadOnly)
        }
        unsafe try freePages?.check(value)
    }

    /// The record as it lies in the map, where there is one: until the transaction ends or changes something.
    func find(_ place: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
        try checkOpen()
        // LMDB takes a mutable pointer and does not write through it.
        var key = unsafe MDB_val(
            mv_size: place.count, mv_data: UnsafeMutableRawPointer(mutating: place.baseAddress))
        var found = unsafe MDB_val()
        let result = unsafe mdb_get(transaction, database, &key, &found)
        guard let found = unsafe try checked(found, result) else { return nil }
        return unsafe UnsafeRawBufferPointer(start: found.mv_data, count: found.mv_size)
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

    /// The first record at `start` or behind it, where its place begins with `prefix`.
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

    /// The last record at `end` or before it, where its place begins with `prefix`.
    func last(upTo end: [UInt8], prefix: [UInt8]) throws(StoreError) -> (place: [UInt8], record: [UInt8])? {
        try checkOpen()
        var cursor = unsafe try TreeCursor(transaction, database, at: end)
        if cursor.result == MDB_NOTFOUND {
            cursor.move(MDB_LAST)
        } else if unsafe cursor.result == 0 && Self.octets(cursor.place) != end {
            cursor.move(MDB_PREV)
        }
        guard unsafe try checked(cursor.record, cursor.result) != nil else { return nil }
        let found = unsafe Self.octets(cursor.place)
        guard found.starts(with: prefix), !end.lexicographicallyPrecedes(found) else { return nil }
        return unsafe (found, Self.octets(cursor.record))
    }

    /// Calls `body` with each record from `start` on as it lies in the map, in the tree's order, until it returns
    /// false; nothing of it may leave the call.
    func scan(
        from start: [UInt8],
        _ body: (_ place: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try checkOpen()
        var cursor = unsafe try TreeCursor(transaction, database, at: start)
        while cursor.result == 0 {
            let (place, record) = unsafe (cursor.place, cursor.record)
            unsafe try check(record)
            let isWanted = try unsafe body(
                UnsafeRawBufferPointer(start: place.mv_data, count: place.mv_size),
                UnsafeRawBufferPointer(start: record.mv_data, count: record.mv_size))
            guard isWanted else { return }
            cursor.move(MDB_NEXT)
            guard unsafe cursor.result != 0 || Self.isAscending(place, cursor.place) else { throw FreePages.damaged }
        }
        guard cursor.result == MDB_NOTFOUND else { throw Environment.failure(cursor.result) }
    }

    /// Places ascend in a tree that is whole.
    private static func isAscending(_ left: MDB_val, _ right: MDB_val) -> Bool {
        let order = unsafe memcmp(left.mv_data, right.mv_data, min(left.mv_size, right.mv_size))
        return unsafe order < 0 || (order == 0 && left.mv_size < right.mv_size)
    }

    private static func withValue<Result>(of octets: [UInt8], _ body: (inout MDB_val) -> Result) -> Result {
        unsafe octets.withUnsafeBytes { bytes in
            // LMDB takes a mutable pointer and does not write through it.
            var value = unsafe MDB_val(
                mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
            return unsafe body(&value)
        }
    }

    private static func octets(_ value: MDB_val) -> [UInt8] {
        unsafe Array(UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
    }
}
