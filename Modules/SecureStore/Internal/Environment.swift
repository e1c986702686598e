internal import CLMDB
internal import Glibc
internal import SallyportBase
internal import Synchronization

/// The one LMDB environment of an open store.
///
/// LMDB is used in the ways that it guarantees (its 0.9 documentation, "Caveats"): read transactions are not bound to
/// threads (`MDB_NOTLS`); a write transaction begins and ends in one synchronous call on the writer's thread; the map
/// grows only while there is no reader, because growing moves it.
@safe
final class Environment: @unchecked Sendable {
    // SAFETY: all threads may use an `MDB_env`. `gate` keeps the map from moving under a reader; `database` is set only
    // in the initialiser; use after `close` is refused under `gate`.
    let environment: OpaquePointer
    private let database: MDB_dbi
    let gate: Gate
    /// Held shared by each reader that reads the file without the map, for as long as its snapshot must be kept.
    private let pins: Gate
    private let isClosing = Atomic(false)
    let shared: Lock<Shared>
    let maximumSize: Int
    let path: String
    /// Whether the file may have been truncated: reading beyond its end through the map would end the process.
    let isShort: Bool
    /// The mapped file of a read-only environment. Another process may replace it.
    private let mappedFile: FileIdentity?
    private var isClosed = false
    private static let idleLimit = 8

    // SAFETY: the list holds the only reference to the transaction, under the lock `shared`; only the thread that takes it
    // out of the list uses it.
    struct IdleReader: @unchecked Sendable { let tree: Tree }

    /// Used by the writer only.
    private var commits = 0

    static let fileName = "data.mdb"
    static let newFileName = "data.mdb.new"
    private static let initialSize = 16 << 20
    private static let commitsBetweenChecks = 256
    /// The largest size of a store: 4 TiB. A page that claims more is damaged.
    static let largestSize = 4 << 40

    init(directory: String, options: StoreOptions) throws(StoreError) {
        gate = try Gate()
        pins = try Gate()
        isShort = try Self.checkMetaPages("\(directory)/\(Self.fileName)")
        var created: OpaquePointer?
        try Self.check(unsafe mdb_env_create(&created))
        guard let created = unsafe created else { throw StoreError(.internalFailure, "LMDB gave no environment.") }
        let path = "\(directory)/\(Self.fileName)"
        do throws(StoreError) {
            let size = max(Self.initialSize, Self.fileSize(path) * 5 / 4)
            try Self.check(unsafe mdb_env_set_mapsize(created, Self.wholePages(min(size, options.maximumSize))))
            try Self.check(unsafe mdb_env_set_maxreaders(created, 1024))
            unsafe mappedFile = try Self.openFiles(of: created, in: directory, isReadOnly: options.isReadOnly)
            unsafe database = try Self.openDatabase(created, path, isReadOnly: options.isReadOnly)
            if !options.isReadOnly { try Self.check(unsafe mdb_reader_check(created, nil)) }
            shared = Lock(Shared(map: unsafe try Self.map(of: created, path)))
        } catch {
            unsafe mdb_env_close(created)
            throw error
        }
        unsafe environment = created
        maximumSize = Self.wholePages(min(options.maximumSize, Self.largestSize))
        self.path = path
    }

    deinit { close() }

    /// Creates an empty data file: completely, or not at all.
    static func create(directory: String) throws(StoreError) {
        let bytes = EmptyDataFile.bytes(mapSize: initialSize)
        try Files.replace("\(directory)/\(fileName)", with: bytes, mode: 0o600)
    }

    /// Refuses readings from now on, and asks holders of snapshots to release them. Readings under way go on.
    func refuse() { isClosing.store(true, ordering: .releasing) }

    /// Whether readings are refused: it is closed, or will be.
    var isRefusing: Bool { isClosing.load(ordering: .acquiring) }

    /// Waits for readers to leave, asks holders of snapshots to release them, then closes. Idempotent.
    func close() {
        refuse()
        pins.alone {
            gate.alone {
                guard !isClosed else { return }
                isClosed = true
                // Idle readers retain this environment too.
                dropIdleReaders()
                unsafe mdb_env_close(environment)
            }
        }
    }

    /// Runs `body`, which uses the store's keys and no data: they are cleared after the closing, which waits for it.
    ///
    /// - Throws: ``StoreError/Code/closed``.
    func whileOpen<Result>(_ body: () -> Result) throws(StoreError) -> Result {
        gate.enter()
        defer { gate.leave() }
        guard !isRefusing else { throw StoreError(.closed, "The store is closed.") }
        return body()
    }

    /// Lets the calling thread close the store when it has left its last reading, if it is in one: closing waits for
    /// all readers, and would wait for itself.
    ///
    /// - Returns: whether the thread is reading.
    func defersClosing(_ close: @escaping @Sendable () -> Void) -> Bool {
        guard gate.entries > 0 else { return false }
        refuse()
        shared.withLock { $0.closings[pthread_self(), default: []].append(close) }
        return true
    }

    /// - Throws: ``StoreError/Code/damaged`` if the data file is missing, which a store with keys always has.
    static func checkExists(_ path: String) throws(StoreError) {
        guard !Files.exists(path) else { return }
        throw StoreError(.damaged, "The store's data file \(path) is missing.", underlying: StoreFileLost())
    }

    /// LMDB would follow the page that claims the higher number, even back to an older snapshot.
    ///
    /// - Returns: whether pages are missing at the end. They may be free pages that were never written.
    private static func checkMetaPages(_ path: String) throws(StoreError) -> Bool {
        try checkExists(path)
        let file = try PageFile(path, isStopped: { false })
        let report = try StoreCheck.metaPages(of: file)
        guard let finding = report.findings.first else { return report.pages * report.pageSize > file.length }
        throw StoreError(.damaged, "The data file \(path) is damaged. \(finding.message)")
    }

    /// LMDB keeps the size in the file; it must be one that LMDB can map.
    private static func wholePages(_ size: Int) -> Int { max(size & ~0x7fff, 0x10000) }

    private static func fileSize(_ path: String) -> Int {
        var info = stat()
        return unsafe stat(path, &info) == 0 ? Int(info.st_size) : 0
    }

    /// - Returns: the mapped file, if it is only read.
    private static func openFiles(
        of environment: OpaquePointer, in directory: String, isReadOnly: Bool
    ) throws(StoreError) -> FileIdentity? {
        let path = "\(directory)/\(fileName)"
        guard isReadOnly else {
            try check(unsafe mdb_env_open(environment, directory, UInt32(MDB_NOTLS), 0o600), of: path)
            return nil
        }
        return try DirectoryLock.whileOpening(directory) { () throws(StoreError) -> FileIdentity? in
            // Checked again: a replacement may have begun since, and ended half-way.
            try StoreDirectory.checkIsWhole(directory)
            let flags = UInt32(MDB_NOTLS) | UInt32(MDB_RDONLY)
            try check(unsafe mdb_env_open(environment, directory, flags, 0o600), of: path)
            return FileIdentity(path)
        }
    }

    private static func openDatabase(
        _ environment: OpaquePointer, _ path: String, isReadOnly: Bool
    ) throws(StoreError) -> MDB_dbi {
        var transaction: OpaquePointer?
        try check(unsafe mdb_txn_begin(environment, nil, isReadOnly ? UInt32(MDB_RDONLY) : 0, &transaction), of: path)
        var database = MDB_dbi()
        let result = unsafe mdb_dbi_open(transaction, nil, 0, &database)
        guard result == 0 else {
            unsafe mdb_txn_abort(transaction)
            throw Self.failure(result, of: path)
        }
        try check(unsafe mdb_txn_commit(transaction), of: path)
        return database
    }
}

// MARK: Transactions

extension Environment {
    /// Runs `body` on a consistent snapshot, on the calling thread.
    func read<Result>(_ body: (Tree) throws -> Result) throws -> Result {
        var tree = try enter()
        defer { leave(&tree) }
        return try body(tree)
    }

    /// Ends a read. A transaction without other references is kept for the next read.
    func leave(_ tree: inout Tree) {
        if isKnownUniquelyReferenced(&tree) {
            tree.reset()
            let reader = IdleReader(tree: tree)
            let isKept = shared.withLock { shared in
                guard shared.idle.count < Self.idleLimit else { return false }
                shared.idle.append(reader)
                return true
            }
            if !isKept { tree.abort() }
        } else {
            tree.abort()
        }
        gate.leave()
        guard isRefusing, gate.entries == 0 else { return }
        for close in shared.withLock({ $0.closings.removeValue(forKey: pthread_self()) }) ?? [] { close() }
    }

    /// Begins a snapshot inside the gate; the caller must leave it on the same thread.
    func enter() throws(StoreError) -> Tree {
        // A reading within another goes on with it.
        guard !isRefusing || gate.entries > 0 else { throw StoreError(.closed, "The store is closed.") }
        if mappedFile != nil { try checkIsMapped(FileIdentity(path)) }
        while true {
            gate.enter()
            do throws(StoreError) {
                if let tree = try renewed() { return tree }
                return try begin(isReadOnly: true)
            } catch {
                gate.leave()
                // Another process has grown the file. A reader of the map must not lose it.
                guard error.underlying as? MapLimit == .moved, gate.entries == 0 else { throw error }
            }
            try adoptSize()
        }
    }

    /// - Throws: ``StoreError/Code/closed`` if another process has put another file in the place of the mapped one.
    func checkIsMapped(_ file: FileIdentity?) throws(StoreError) {
        guard mappedFile == nil || mappedFile == file else {
            throw StoreError(.closed, "The data file was replaced or wiped by another process: open the store again.")
        }
    }

    private func renewed() throws(StoreError) -> Tree? {
        guard !isClosed, let tree = shared.withLock({ $0.idle.popLast() })?.tree else { return nil }
        do throws(StoreError) {
            try tree.renew()
            return tree
        } catch {
            tree.abort()
            throw error
        }
    }

    /// Runs `body` in a write transaction and commits it durably; if the map is full, enlarges it and runs `body`
    /// again.
    ///
    /// Only the writer's thread calls this.
    func write(_ body: (Tree) throws(StoreError) -> Void) throws(StoreError) {
        commits += 1
        if commits % Self.commitsBetweenChecks == 0 { _ = try clearStaleReaders() }
        while true {
            do throws(StoreError) {
                let tree = try begin(isReadOnly: false)
                defer { tree.abort() }
                try body(tree)
                return try tree.commit()
            } catch {
                guard error.underlying as? MapLimit == .reached else { throw Self.explained(error, path) }
                if try clearStaleReaders() == 0 { try grow() }
            }
        }
    }

    /// LMDB reports a truncated write as an input/output error, whether the disk is full or broken.
    private static func explained(_ error: StoreError, _ path: String) -> StoreError {
        guard error.code == .fileSystem, Files.isFull(path) else { return error }
        return StoreError(.full, noRoom(for: path), underlying: error)
    }

    /// Frees the entries of reader processes that were killed before they could do so.
    ///
    /// - Returns: the number of freed entries.
    private func clearStaleReaders() throws(StoreError) -> Int {
        var count: Int32 = 0
        try Self.check(unsafe mdb_reader_check(environment, &count))
        return Int(count)
    }

    private func begin(isReadOnly: Bool) throws(StoreError) -> Tree {
        guard !isClosed else { throw StoreError(.closed, "The store is closed.") }
        try checkMap()
        var transaction: OpaquePointer?
        let result = unsafe mdb_txn_begin(environment, nil, isReadOnly ? UInt32(MDB_RDONLY) : 0, &transaction)
        try Self.check(result, of: path)
        guard let transaction = unsafe transaction else {
            throw StoreError(.internalFailure, "LMDB gave no transaction.")
        }
        return unsafe Tree(
            transaction: transaction, database: database, environment: self, isReadOnly: isReadOnly)
    }

    /// Keeps the newest snapshot's pages from being reused while `body` reads them from the file; the map may grow
    /// meanwhile, since no reader uses it.
    ///
    /// - Parameter body: receives the snapshot's number, and a function that says whether the store is being closed.
    func withSnapshot<Result>(
        _ body: (_ transaction: UInt64, _ isClosing: @escaping @Sendable () -> Bool) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        pins.enter()
        defer { pins.leave() }
        guard !isRefusing else { throw StoreError(.closed, "The store is closed.") }
        let tree = try enter()
        gate.leave()
        defer { tree.abort() }
        return try body(tree.identifier) { [self] in isRefusing }
    }

    /// LMDB's statistics, and the file's size.
    struct Figures: Sendable {
        var fileSize = 0
        var usedSize = 0
        var mapSize = 0
        var lastCommit: UInt64 = 0
        var readers = 0
    }

    func figures() throws(StoreError) -> Figures {
        gate.enter()
        defer { gate.leave() }
        guard !isClosed else { throw StoreError(.closed, "The store is closed.") }
        try checkMap()
        var info = unsafe MDB_envinfo()
        var status = MDB_stat()
        var path: UnsafePointer<CChar>?
        try Self.check(unsafe mdb_env_info(environment, &info))
        try Self.check(unsafe mdb_env_stat(environment, &status))
        try Self.check(unsafe mdb_env_get_path(environment, &path))
        let directory = unsafe path.map { unsafe String(cString: $0) } ?? ""
        let pages = status.ms_branch_pages + status.ms_leaf_pages + status.ms_overflow_pages
        var readers = 0
        try Self.check(unsafe mdb_reader_list(environment, countReader, &readers))
        return Figures(
            fileSize: Self.fileSize("\(directory)/\(Self.fileName)"), usedSize: (pages + 2) * Int(status.ms_psize),
            mapSize: unsafe Int(info.me_mapsize), lastCommit: UInt64(unsafe info.me_last_txnid), readers: readers)
    }
}

/// Called with a line of headings, then with one line for each reader.
private func countReader(_ line: UnsafePointer<CChar>?, _ context: UnsafeMutableRawPointer?) -> Int32 {
    guard let line = unsafe line, let count = unsafe context?.assumingMemoryBound(to: Int.self) else { return 0 }
    let words = unsafe String(cString: line).split(separator: " ")
    // pid, thread, and the snapshot's number or "-".
    if words.count == 3, let last = words.last?.filter(\.isNumber), !last.isEmpty { unsafe count.pointee += 1 }
    return 0
}

// MARK: Errors

extension Environment {
    /// Ends a transaction, which is then tried again with a larger map.
    private enum MapLimit: Error {
        /// No room is left in the map.
        case reached
        /// Another process has grown the file beyond the map.
        case moved
    }

    /// - Parameter path: the data file's, for the messages; nil for calls that touch only what is mapped.
    static func check(
        _ result: Int32, of path: String? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) throws(StoreError) {
        guard result != 0 else { return }
        throw failure(result, of: path, fileID: fileID, line: line)
    }

    private static func noRoom(for path: String) -> String { "The disk is full, or \(path) may not grow." }

    /// Converts LMDB's and the system's codes; an unknown code keeps its number.
    static func failure(
        _ result: Int32, of path: String? = nil, fileID: StaticString = #fileID, line: UInt = #line
    ) -> StoreError {
        let text = unsafe String(cString: mdb_strerror(result))
        let path = path ?? "the store's data file"
        switch result {
        case MDB_MAP_FULL:
            return StoreError(
                .full, "The map is full.", underlying: MapLimit.reached, fileID: fileID, line: line)
        case MDB_MAP_RESIZED:
            return StoreError(
                .closed, "Another process has grown the file.", underlying: MapLimit.moved, fileID: fileID, line: line)
        case MDB_PANIC:
            // LMDB refuses all transactions after a commit that failed half-way; what is on the disk is whole.
            let message = "An earlier commit failed half-way: open the store again."
            return StoreError(.closed, message, fileID: fileID, line: line)
        case MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID:
            let message = "There is damage in \(path) (LMDB \(result): \(text))."
            return StoreError(.damaged, message, fileID: fileID, line: line)
        case MDB_VERSION_MISMATCH:
            return StoreError(.unsupportedFormat, "Another version wrote \(path).", fileID: fileID, line: line)
        case ENOSPC, EDQUOT, EFBIG: return StoreError(.full, noRoom(for: path), fileID: fileID, line: line)
        case ENOENT: return StoreError(.notFound, "There is no file \(path).", fileID: fileID, line: line)
        case EACCES, EROFS, EPERM, EIO:
            return StoreError(.fileSystem, "Cannot use \(path): \(text).", fileID: fileID, line: line)
        default: return StoreError(.internalFailure, "LMDB \(result): \(text).", fileID: fileID, line: line)
        }
    }
}
