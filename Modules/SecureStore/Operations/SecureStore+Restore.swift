extension SecureStore {
    /// Puts a backup in the place of a store, or where there is none.
    ///
    /// The backup is verified first and copied; what was there before is replaced as a whole, or stays: what is
    /// interrupted is finished by the next ``open(at:protectedBy:options:)``, or never began. Files in the directory
    /// that are not the store's, such as a key file, stay. Readers in other processes must open again.
    ///
    /// - Parameter protector: of the moment of the backup.
    /// - Returns: the report of the check of the backup, which is sound.
    /// - Throws: ``StoreError/Code/inUse`` where the store is open; ``StoreError/Code/damaged`` where the backup is;
    ///   ``StoreError/Code/wrongKey``; ``StoreError/Code/full``. The store is as before.
    @concurrent
    public static func restore(
        from backup: String, to path: String, protectedBy protector: any KeyProtector
    ) async throws(StoreError) -> VerificationReport {
        let source = try await open(at: backup, protectedBy: protector, options: .readOnly)
        defer { source.close() }
        try Files.makeDirectory(path)
        return try exclusively(at: path) { real throws(StoreError) in
            guard real != source.path else { throw StoreError(.inUse, "A backup cannot be restored onto itself.") }
            let staging = "\(real)/\(StoreDirectory.stagingName)"
            try StoreDirectory.discardStaging(real)
            try Files.makeDirectory(staging)
            do throws(StoreError) {
                let report = try source.stage(in: staging)
                try Files.rename(staging, to: "\(real)/\(StoreDirectory.restoringName)")
                try StoreDirectory.finishRestore(real)
                return report
            } catch {
                try? StoreDirectory.discardStaging(real)
                throw error
            }
        }
    }

    private func stage(in staging: String) throws(StoreError) -> VerificationReport {
        let report = try StoreCopy.run(environment, path: dataPath, ring: ring, into: staging)
        let keys = try StoreDirectory.keys(in: path)
        try Files.write(keys, to: "\(staging)/\(KeyRingFile.name)", mode: 0o600, mustBeNew: true)
        try Files.write([], to: "\(staging)/\(StoreDirectory.restoredName)", mode: 0o600, mustBeNew: true)
        try Files.syncDirectory(of: "\(staging)/\(KeyRingFile.name)")
        return report
    }

    /// Runs `body` while nobody writes the store, in no process, and nobody in this one has it open.
    static func exclusively<Result>(
        at path: String, _ body: (_ real: String) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try StoreDirectory.checkAccess(path)
        let real = Files.realPath(path)
        try OpenDirectories.enter(real)
        defer { OpenDirectories.leave(real) }
        let lock = try WriterLock(directory: real)
        defer { if lock.wasClean { lock.markClean() } }
        return try body(real)
    }

    /// Whether the store came from a backup and nobody has said since that this is known: what it says of the time
    /// since the backup may be wrong.
    package var isRestored: Bool { Files.exists("\(path)/\(StoreDirectory.restoredName)") }

    /// Takes note that whoever uses the store knows that it came from a backup. Durable when it returns.
    package func acceptRestore() throws(StoreError) {
        guard isRestored else { return }
        guard writer != nil else { throw StoreError(.readOnly, "The store was opened read-only.") }
        try Files.remove("\(path)/\(StoreDirectory.restoredName)")
    }
}
