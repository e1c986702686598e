internal import CLMDB

/// A walk over a transaction's tree; valid while the transaction is open and, where that writes, unchanged.
@safe
struct TreeCursor: ~Copyable {
    private let cursor: OpaquePointer
    /// The place that the last step found, if ``result`` is 0. Only ``SnapshotPages`` turns it into bytes.
    private(set) var place = unsafe MDB_val()
    private(set) var record = unsafe MDB_val()
    /// LMDB's result code.
    private(set) var result: Int32 = 0

    /// Begins at the first record at or after `start`.
    init(_ transaction: OpaquePointer, _ database: MDB_dbi, at start: [UInt8]) throws(StoreError) {
        var cursor: OpaquePointer?
        try Environment.check(unsafe mdb_cursor_open(transaction, database, &cursor))
        guard let cursor = unsafe cursor else { throw StoreError(.internalFailure, "LMDB gave no cursor.") }
        unsafe self.cursor = unsafe cursor
        // LMDB reads the key, and sets `place` to the one that it found.
        var (place, record) = unsafe (MDB_val(), MDB_val())
        result = unsafe start.withUnsafeBytes { start in
            unsafe place.mv_size = start.count
            unsafe place.mv_data = UnsafeMutableRawPointer(mutating: start.baseAddress)
            return unsafe mdb_cursor_get(cursor, &place, &record, MDB_SET_RANGE)
        }
        unsafe (self.place, self.record) = unsafe (place, record)
    }

    deinit { unsafe mdb_cursor_close(cursor) }

    mutating func move(_ operation: MDB_cursor_op) {
        result = unsafe mdb_cursor_get(cursor, &place, &record, operation)
    }
}
