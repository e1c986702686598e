internal import Glibc
internal import SallyportBase

/// The directory of a store: who writes it, and how it is destroyed.
enum StoreDirectory {
    private static let intentName = "wiping"
    /// What a wipe leaves, so that the next opener is told why there is nothing.
    private static let wipedName = "wiped"
    static let readersName = "lock.mdb"
    /// What is being made of a backup or by a compaction, and is of no use yet.
    static let stagingName = "staging"
    /// What was made of a backup, whole, and is being put in place.
    static let restoringName = "restoring"
    /// Tells that the store came from a backup.
    static let restoredName = "restored"
    private static let dataNames = [Environment.fileName, Environment.newFileName, readersName, restoredName]

    static func prepare(_ path: String, options: StoreOptions) throws(StoreError) {
        if options.createsIfMissing, !options.isReadOnly { try Files.makeDirectory(path) }
        guard Files.exists(path) else { throw StoreError(.notFound, "There is no store at \(path).") }
        try checkAccess(path)
        guard !Files.exists("\(path)/\(intentName)") else {
            guard !options.isReadOnly else { throw StoreError(.wiped, "The store at \(path) is being wiped.") }
            return
        }
        guard !Files.exists("\(path)/\(restoringName)") else {
            guard !options.isReadOnly else { throw StoreError(.inUse, "The store at \(path) is being restored.") }
            return
        }
        guard Files.exists("\(path)/\(KeyRingFile.name)") || (options.createsIfMissing && !options.isReadOnly) else {
            guard !Files.exists("\(path)/\(wipedName)") else {
                throw StoreError(.wiped, "The store at \(path) was wiped.")
            }
            throw StoreError(.notFound, "There is no store at \(path).")
        }
    }

    /// Refuses a directory that other users can enter, and one that belongs to another user or contains a file of
    /// another user: the owner of a file can change it at any time.
    static func checkAccess(_ path: String) throws(StoreError) {
        try PrivateAccess.check(directory: path)
        for name in [KeyRingFile.name, WriterLock.fileName] + dataNames {
            let file = "\(path)/\(name)"
            guard Files.exists(file) else { continue }
            try PrivateAccess.checkOwner(Files.status(of: file), "The file \(file)")
        }
    }

    /// A new store stands where one was wiped.
    static func forgetWipe(_ path: String) throws(StoreError) { try Files.remove("\(path)/\(wipedName)") }

    /// Destroys a store in the order after which nothing in the directory is readable: a synced intent, the keys
    /// overwritten, synced and removed, then the data, then the intent becomes the note that there was a wipe.
    static func wipe(_ path: String, protectedBy protector: any KeyProtector) throws(StoreError) {
        try Files.write([], to: "\(path)/\(intentName)", mode: 0o600, mustBeNew: false)
        try Files.syncDirectory(of: "\(path)/\(intentName)")
        try Files.destroy("\(path)/\(KeyRingFile.name)")
        try Files.destroy("\(path)/\(KeyRingFile.name).new")
        for name in [stagingName, restoringName] { try Files.destroy("\(path)/\(name)/\(KeyRingFile.name)") }
        try protector.destroySecret(inDirectory: path)
        for name in [stagingName, restoringName] { try Files.removeDirectory("\(path)/\(name)") }
        for name in dataNames { try Files.remove("\(path)/\(name)") }
        try Files.rename("\(path)/\(intentName)", to: "\(path)/\(wipedName)")
    }

    /// Makes the data file of a new store, before its keys: a store that has keys has data.
    ///
    /// - Throws: ``StoreError/Code/damaged`` where data is there whose keys are lost.
    static func createData(in path: String) throws(StoreError) {
        let data = "\(path)/\(Environment.fileName)"
        if Files.exists(data) {
            let report = try StoreCheck.run(PageFile(data, isStopped: { false }), ring: nil)
            guard report.isSound, report.transaction == 0 else {
                throw StoreError(.damaged, "The data at \(path) has no keys.")
            }
        }
        try Environment.create(directory: path)
    }

    static func keys(in path: String) throws(StoreError) -> [UInt8] {
        try Files.read("\(path)/\(KeyRingFile.name)", upTo: 64 << 10)
    }

    /// Removes what an interrupted restore or compaction left.
    static func discardStaging(_ path: String) throws(StoreError) {
        try Files.destroy("\(path)/\(stagingName)/\(KeyRingFile.name)")
        try Files.removeDirectory("\(path)/\(stagingName)")
    }

    /// Puts in place what a restore has made whole; each step may have been done before.
    static func finishRestore(_ path: String) throws(StoreError) {
        let restoring = "\(path)/\(restoringName)"
        guard Files.exists(restoring) else { return }
        // Who has the old file open keeps its table of readers too.
        try Files.remove("\(path)/\(readersName)")
        try forgetWipe(path)
        for name in [restoredName, KeyRingFile.name, Environment.fileName] where Files.exists("\(restoring)/\(name)") {
            try Files.rename("\(restoring)/\(name)", to: "\(path)/\(name)")
        }
        try Files.removeDirectory(restoring)
    }

    /// Finishes a wipe that was interrupted; true where there was one.
    static func finishWipe(_ path: String, protectedBy protector: any KeyProtector) throws(StoreError) -> Bool {
        guard Files.exists("\(path)/\(intentName)") else { return false }
        try wipe(path, protectedBy: protector)
        return true
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
