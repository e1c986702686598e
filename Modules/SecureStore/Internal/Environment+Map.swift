internal import CLMDB
internal import Glibc
internal import SallyportBase

// The map: its address, the pages of it that a snapshot uses, and its growth.
extension Environment {
    /// The state that any thread may read. It changes only while no transaction reads through the map.
    struct Shared: Sendable {
        /// Where the map lies; it moves when its size changes.
        var map: FileMap
        /// Whether LMDB has no map any more, since it could not be resized: LMDB would read memory that is not mapped.
        var isLost = false
        /// The pages of the most recently read snapshot.
        var pages: SnapshotPages?
        /// Idle reader transactions, without a snapshot.
        var idle: [IdleReader] = []
        /// By thread: how a thread that closed the store within a read goes on with it when the read has ended.
        var closings: [pthread_t: [@Sendable () -> Void]] = [:]
    }

    static func map(of environment: OpaquePointer, _ path: String) throws(StoreError) -> FileMap {
        var descriptor: Int32 = -1
        try check(unsafe mdb_env_get_fd(environment, &descriptor))
        var info = unsafe MDB_envinfo()
        try check(unsafe mdb_env_info(environment, &info))
        return try FileMap.find(descriptor, path: path, length: unsafe info.me_mapsize)
    }

    /// The pages of the snapshot that a transaction reads; determined once for each snapshot.
    func pages(of transaction: OpaquePointer, isReadOnly: Bool) throws(StoreError) -> SnapshotPages {
        let number = UInt64(unsafe mdb_txn_id(transaction)) &- (isReadOnly ? 0 : 1)
        let (place, known) = shared.withLock { ($0.map, $0.pages) }
        if let known, known.transaction == number { return known }
        // Perhaps it could not be looked for when it was resized, for want of a file descriptor.
        let map = place.length > 0 ? place : try findMap()
        let found: SnapshotPages
        if isReadOnly {
            found = unsafe try SnapshotPages(transaction, environment, map)
        } else {
            var reader: OpaquePointer?
            try Self.check(unsafe mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &reader))
            defer { unsafe mdb_txn_abort(reader) }
            guard let reader = unsafe reader else { throw StoreError(.internalFailure, "LMDB gave no transaction.") }
            found = unsafe try SnapshotPages(reader, environment, map)
        }
        shared.withLock { $0.pages = found }
        return found
    }

    private func findMap() throws(StoreError) -> FileMap {
        let found = unsafe try Self.map(of: environment, path)
        shared.withLock { $0.map = found }
        return found
    }

    func checkMap() throws(StoreError) {
        guard !shared.withLock({ $0.isLost }) else {
            throw StoreError(.closed, "The map of the data file could not be resized: open the store again.")
        }
    }

    func grow() throws(StoreError) {
        try gate.alone { () throws(StoreError) in
            try checkMap()
            var info = unsafe MDB_envinfo()
            try Self.check(unsafe mdb_env_info(environment, &info))
            guard unsafe info.me_mapsize < maximumSize else {
                throw StoreError(.full, "The store has reached its maximum size of \(maximumSize) bytes.")
            }
            try resize(unsafe min(info.me_mapsize * 2, maximumSize))
        }
    }

    /// Resizes the map to the size to which another process's write has grown the file.
    func adoptSize() throws(StoreError) {
        try gate.alone { () throws(StoreError) in
            try checkMap()
            try resize(0)
        }
    }

    /// Resizes the map, which may move it, and discards its old address. No transaction may be reading.
    private func resize(_ size: Int) throws(StoreError) {
        dropIdleReaders()
        // Nothing can be read until the new address is known.
        shared.withLock { ($0.map, $0.pages) = (FileMap(start: 0, length: 0), nil) }
        let result = unsafe mdb_env_set_mapsize(environment, size)
        if result != 0 { shared.withLock { $0.isLost = true } }
        try Self.check(result)
        _ = try findMap()
    }

    func dropIdleReaders() {
        while let reader = shared.withLock({ $0.idle.popLast() }) { reader.tree.abort() }
    }
}
