internal import CLMDB

/// Writes a new data file, record by record in the order of the tree: without free pages and old records.
///
/// Nothing is synced before ``finish()``; until then, the file must be private to this object. Used on one thread.
@safe
final class DataFileWriter {
    private let environment: OpaquePointer
    private var transaction: OpaquePointer?
    private var pendingBytes = 0
    private let path: String

    /// The number of bytes that are committed together.
    private static let batch = 8 << 20

    /// - Parameter capacity: in bytes; at least the size of the records and LMDB's overhead.
    init(directory: String, capacity: Int) throws(StoreError) {
        path = "\(directory)/\(Environment.fileName)"
        let size = min(max(capacity, 16 << 20), Environment.largestSize) & ~0xffff
        try Files.write(EmptyDataFile.bytes(mapSize: size), to: path, mode: 0o600, mustBeNew: true)
        var created: OpaquePointer?
        try Environment.check(unsafe mdb_env_create(&created))
        guard let created = unsafe created else { throw StoreError(.internalFailure, "LMDB gave no environment.") }
        var result = unsafe mdb_env_set_mapsize(created, size)
        let flags = UInt32(MDB_NOSYNC | MDB_NOLOCK | MDB_NOTLS)
        if result == 0 { result = unsafe mdb_env_open(created, directory, flags, 0o600) }
        guard result == 0 else {
            unsafe mdb_env_close(created)
            throw Environment.failure(result, of: path)
        }
        unsafe environment = created
    }

    deinit {
        unsafe mdb_txn_abort(transaction)
        unsafe mdb_env_close(environment)
    }

    func append(_ record: [UInt8], at place: [UInt8]) throws(StoreError) {
        if unsafe transaction == nil {
            try check(unsafe mdb_txn_begin(environment, nil, 0, &transaction))
        }
        var database = MDB_dbi()
        try check(unsafe mdb_dbi_open(transaction, nil, 0, &database))
        let result = unsafe place.withUnsafeBytes { place in
            unsafe record.withUnsafeBytes { record in
                // LMDB takes mutable pointers but does not write through them.
                var key = unsafe MDB_val(
                    mv_size: place.count, mv_data: UnsafeMutableRawPointer(mutating: place.baseAddress))
                var value = unsafe MDB_val(
                    mv_size: record.count, mv_data: UnsafeMutableRawPointer(mutating: record.baseAddress))
                return unsafe mdb_put(transaction, database, &key, &value, UInt32(MDB_APPEND))
            }
        }
        try check(result)
        pendingBytes += place.count + record.count
        if pendingBytes >= Self.batch { try commit() }
    }

    /// Makes the file durable, except for its name.
    func finish() throws(StoreError) {
        try commit()
        try check(unsafe mdb_env_sync(environment, 1))
        try Files.sync(path)
    }

    private func commit() throws(StoreError) {
        guard let open = unsafe transaction else { return }
        unsafe transaction = nil
        pendingBytes = 0
        try check(unsafe mdb_txn_commit(open))
    }

    private func check(_ result: Int32) throws(StoreError) { try Environment.check(result, of: path) }
}
