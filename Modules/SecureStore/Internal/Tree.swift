internal import CLMDB
internal import SallyportCore

/// One LMDB transaction on the store's tree; aborted unless committed.
///
/// Values are copied out: nothing that points into the map leaves a method. Used after its end, it throws.
@safe
final class Tree {
    private let transaction: OpaquePointer
    private let database: MDB_dbi
    private var isOpen = true
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

    /// Ends the transaction without its changes. Idempotent.
    func abort() {
        guard isOpen else { return }
        isOpen = false
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
        try checkOpen()
        var found = unsafe MDB_val()
        let result = unsafe Self.withValue(of: place) { unsafe mdb_get(transaction, database, &$0, &found) }
        if result == MDB_NOTFOUND { return nil }
        try Environment.check(result)
        return unsafe try checkedOctets(found)
    }

    private func checkedOctets(_ value: MDB_val) throws(StoreError) -> [UInt8] {
        if isChanged { return unsafe Self.octets(value) }
        if let freePages {
            unsafe try freePages.check(value)
        } else {
            let found = unsafe try environment.freePages(of: transaction, isReadOnly: isReadOnly)
            freePages = found
            unsafe try found.check(value)
        }
        return unsafe Self.octets(value)
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
        try checkOpen()
        var cursor: OpaquePointer?
        try Environment.check(unsafe mdb_cursor_open(transaction, database, &cursor))
        defer { unsafe mdb_cursor_close(cursor) }
        var value = unsafe MDB_val()
        var place = prefix
        var result = unsafe Self.withValue(of: prefix) { key in
            let result = unsafe mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
            if result == 0 { place = unsafe Self.octets(key) }
            return result
        }
        while result == 0 {
            guard place.starts(with: prefix), try body(place, unsafe checkedOctets(value)) else { return }
            var key = unsafe MDB_val()
            result = unsafe mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
            guard result == 0 else { break }
            let last = place
            place = unsafe Self.octets(key)
            guard last.lexicographicallyPrecedes(place) else { throw FreePages.damaged }
        }
        guard result == MDB_NOTFOUND else { throw Environment.failure(result) }
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
