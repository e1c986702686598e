internal import Glibc
internal import SallyportBase

/// The directory of a store: its access rights and its files. ``StoreWipe`` destroys them.
enum StoreDirectory {
    /// Marks a store that is being wiped.
    static let intentName = "wiping"
    /// Left by a wipe, so that the next opening reports why there is no store.
    static let wipedName = "wiped"
    static let readersName = "lock.mdb"
    /// The unfinished result of a restore or a compaction, which is not usable yet.
    static let stagingName = "staging"
    /// The finished result of a restore or a compaction, which is being moved into place.
    static let restoringName = "restoring"
    /// Marks a store that came from a backup.
    static let restoredName = "restored"
    static let dataNames = [Environment.fileName, Environment.newFileName, readersName, restoredName]

    static func prepare(_ path: String, options: StoreOptions) throws(StoreError) {
        let creates = options.createsIfMissing && !options.isReadOnly
        if creates { try Files.makeDirectory(path) }
        // Before the access is checked: a directory that is no store need not be made private.
        guard creates || isUsed(path) else { throw StoreError(.notFound, "There is no store at \(path).") }
        try checkAccess(path)
        guard !Files.exists("\(path)/\(intentName)") else {
            guard !options.isReadOnly else { throw StoreError(.wiped, "The store at \(path) is being wiped.") }
            return
        }
        guard !Files.exists("\(path)/\(restoringName)") else {
            if options.isReadOnly { try checkIsWhole(path) }
            return
        }
        if !creates { try checkHasKeys(path) }
    }

    private static func checkHasKeys(_ path: String) throws(StoreError) {
        guard try !hasKeys(path) else { return }
        guard try holdsData(path) else { throw StoreError(.notFound, "There is no store at \(path).") }
        // Looked for again behind the data: another process may just have made or restored the store.
        guard try hasKeys(path) else { throw lostKeys(path) }
    }

    /// - Throws: ``StoreError/Code/wiped`` if there are none because of a wipe, which may have begun a moment ago.
    private static func hasKeys(_ path: String) throws(StoreError) -> Bool {
        guard !Files.exists("\(path)/\(KeyRingFile.name)") else { return true }
        guard ![intentName, wipedName].contains(where: { Files.exists("\(path)/\($0)") }) else {
            throw StoreError(.wiped, "The store at \(path) was wiped.")
        }
        return false
    }

    private static func lostKeys(_ path: String) -> StoreError {
        let name = KeyRingFile.name
        return StoreError(
            .damaged, "The store at \(path) has lost its file '\(name)': its data cannot be read without it.",
            underlying: StoreFileLost())
    }

    /// - Throws: ``StoreError/Code/inUse`` if some of the files may be replaced already and others not yet.
    static func checkIsWhole(_ path: String) throws(StoreError) {
        guard !Files.exists("\(path)/\(restoringName)") else {
            throw StoreError(.inUse, "The store at \(path) is being restored or compacted.")
        }
    }

    /// Whether the directory may hold a store, or what a wiped, a restored or an unfinished one leaves.
    private static func isUsed(_ path: String) -> Bool {
        [KeyRingFile.name, intentName, restoringName, wipedName, Environment.fileName].contains {
            Files.exists("\(path)/\($0)")
        }
    }

    /// Whether there is a data file that is not an empty one, which an interrupted creation leaves. Reads the first pages.
    private static func holdsData(_ path: String) throws(StoreError) -> Bool {
        let data = "\(path)/\(Environment.fileName)"
        guard Files.exists(data) else { return false }
        let report = try StoreCheck.metaPages(of: PageFile(data, isStopped: { false }))
        return !report.isSound || report.transaction != 0
    }

    /// Refuses a directory that other users can enter, and one that belongs to another user or contains a file of
    /// another user: the owner of a file can change it at any time.
    static func checkAccess(_ path: String) throws(StoreError) {
        try PrivateAccess.check(directory: path)
        guard Files.isOpen(directory: path) else { throw Files.failure("enter", path) }
        for name in [KeyRingFile.name, WriterLock.fileName] + dataNames {
            let file = "\(path)/\(name)"
            guard Files.exists(file) else { continue }
            try PrivateAccess.checkOwner(Files.status(of: file), "The file \(file)")
        }
    }

    /// Called when a new store replaces a wiped one.
    static func forgetWipe(_ path: String) throws(StoreError) { try Files.remove("\(path)/\(wipedName)") }

    /// Destroys a store that no process has open.
    ///
    /// - Throws: the first error, after all steps of a ``StoreWipe`` were tried.
    static func wipe(_ path: String, protectedBy protector: any KeyProtector) throws(StoreError) {
        var wipe = StoreWipe(of: path)
        try wipe.finish(protectedBy: protector)
    }

    /// Creates the data file of a new store, before its keys: a store that has keys has data. An empty one, which an
    /// interrupted creation left, is kept.
    ///
    /// - Throws: ``StoreError/Code/damaged`` if there is data whose keys are lost.
    static func createData(in path: String) throws(StoreError) {
        guard try !holdsData(path) else { throw lostKeys(path) }
        let data = "\(path)/\(Environment.fileName)"
        if Files.exists(data) { return try Files.syncDirectory(of: data) }
        try Environment.create(directory: path)
    }

    static func keys(in path: String) throws(StoreError) -> [UInt8] {
        try Files.readCurrent("\(path)/\(KeyRingFile.name)", upTo: 64 << 10)
    }

    /// Removes the unfinished result of a restore or a compaction.
    static func discardStaging(_ path: String) throws(StoreError) { try discard("\(path)/\(stagingName)") }

    /// Removes the result of a restore or a compaction; not before its keys are destroyed.
    static func discard(_ directory: String) throws(StoreError) {
        try Files.destroy("\(directory)/\(KeyRingFile.name)")
        try Files.removeDirectory(directory)
    }

    /// Moves the result of a restore or a compaction into place; each step may have been done before.
    static func finishReplacement(_ path: String) throws(StoreError) {
        let restoring = "\(path)/\(restoringName)"
        guard Files.exists(restoring) else { return }
        try forgetWipe(path)
        try DirectoryLock.whileReplacing(path) { () throws(StoreError) in
            // A process that has the old file open also keeps the old file's table of readers.
            try Files.remove("\(path)/\(readersName)")
            for name in [restoredName, KeyRingFile.name, Environment.fileName]
            where Files.exists("\(restoring)/\(name)") {
                try Files.rename("\(restoring)/\(name)", to: "\(path)/\(name)")
            }
            try Files.removeDirectory(restoring)
        }
    }

    /// Whether a wipe, a restore or a compaction began to change the store and did not end.
    static func isInterrupted(_ path: String) -> Bool {
        [intentName, restoringName].contains { Files.exists("\(path)/\($0)") }
    }

    /// Finishes what was interrupted, or discards it if it had not begun to change the store.
    ///
    /// - Returns: whether it was a wipe.
    static func finishInterrupted(
        _ path: String, protectedBy protector: any KeyProtector
    ) throws(StoreError) -> Bool {
        let isWipe = Files.exists("\(path)/\(intentName)")
        if isWipe { try wipe(path, protectedBy: protector) }
        try finishReplacement(path)
        try discardStaging(path)
        return isWipe
    }
}

/// The directories open in this process: LMDB must never open one environment twice (its locks are the process's).
enum OpenDirectories {
    private static let paths = Lock<Set<String>>([])

    static func enter(_ path: String) throws(StoreError) {
        guard paths.withLock({ $0.insert(path).inserted }) else {
            throw StoreError(.inUse, "The store at \(path) is open in this process already.")
        }
    }

    static func leave(_ path: String) { paths.withLock { _ = $0.remove(path) } }
}
