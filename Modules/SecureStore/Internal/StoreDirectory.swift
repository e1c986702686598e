internal import Glibc
internal import SallyportCore

/// The directory of a store: who writes it, and how it is destroyed.
enum StoreDirectory {
    private static let intentName = "wiping"
    /// What a wipe leaves, so that the next opener is told why there is nothing.
    private static let wipedName = "wiped"
    private static let dataNames = [Environment.fileName, Environment.newFileName, "lock.mdb"]

    static func prepare(_ path: String, options: StoreOptions) throws(StoreError) {
        if options.createsIfMissing, !options.isReadOnly { try Files.makeDirectory(path) }
        guard Files.exists(path) else { throw StoreError(.notFound, "There is no store at \(path).") }
        guard try Files.mode(of: path) & 0o077 == 0 else {
            throw StoreError(.unsafePermissions, "The directory \(path) can be entered by others: chmod 700 it.")
        }
        guard !Files.exists("\(path)/\(intentName)") else {
            guard !options.isReadOnly else { throw StoreError(.wiped, "The store at \(path) is being wiped.") }
            return
        }
        guard Files.exists("\(path)/\(KeyRingFile.name)") || (options.createsIfMissing && !options.isReadOnly) else {
            guard !Files.exists("\(path)/\(wipedName)") else {
                throw StoreError(.wiped, "The store at \(path) was wiped.")
            }
            throw StoreError(.notFound, "There is no store at \(path).")
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
        try protector.destroySecret(inDirectory: path)
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
