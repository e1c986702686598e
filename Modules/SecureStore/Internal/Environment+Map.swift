internal import CLMDB
internal import SallyportBase

// The map: where it lies, what of it a snapshot uses, and how it grows.
extension Environment {
    /// What all threads ask for at each reading.
    struct Shared: Sendable {
        /// Where the map lies; it moves when its size changes, while nobody reads through it.
        var map: FileMap
        /// Of the last snapshot that was read.
        var pages: SnapshotPages?
        /// Readers' transactions without a snapshot.
        var idle: [IdleReader] = []
    }

    static func map(of environment: OpaquePointer, _ path: String) throws(StoreError) -> FileMap {
        var descriptor: Int32 = -1
        try check(unsafe mdb_env_get_fd(environment, &descriptor))
        var info = unsafe MDB_envinfo()
        try check(unsafe mdb_env_info(environment, &info))
        return try FileMap.find(descriptor, path: path, length: unsafe info.me_mapsize)
    }

    /// The pages of the snapshot on which a transaction stands; found once for each snapshot that is read.
    func pages(of transaction: OpaquePointer, isReadOnly: Bool) throws(StoreError) -> SnapshotPages {
        let number = UInt64(unsafe mdb_txn_id(transaction)) &- (isReadOnly ? 0 : 1)
        let (map, known) = shared.withLock { ($0.map, $0.pages) }
        if let known, known.transaction == number { return known }
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

    func grow() throws(StoreError) {
        try gate.alone { () throws(StoreError) in
            var info = unsafe MDB_envinfo()
            try Self.check(unsafe mdb_env_info(environment, &info))
            guard unsafe info.me_mapsize < maximumSize else {
                throw StoreError(.full, "The store has reached its maximum size of \(maximumSize) bytes.")
            }
            try resize(unsafe min(info.me_mapsize * 2, maximumSize))
        }
    }

    /// Adopts the size to which a writing process grew the file.
    func adoptSize() throws(StoreError) {
        try gate.alone { () throws(StoreError) in try resize(0) }
    }

    /// Moves the map, and forgets all that knows where it was. Nobody reads.
    private func resize(_ size: Int) throws(StoreError) {
        dropIdleReaders()
        // Until its new place is known nothing can be read.
        shared.withLock { ($0.map, $0.pages) = (FileMap(start: 0, length: 0), nil) }
        try Self.check(unsafe mdb_env_set_mapsize(environment, size))
        let found = unsafe try Self.map(of: environment, path)
        shared.withLock { $0.map = found }
    }

    func dropIdleReaders() {
        while let reader = shared.withLock({ $0.idle.popLast() }) { reader.tree.abort() }
    }
}
