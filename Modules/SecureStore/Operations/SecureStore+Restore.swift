extension SecureStore {
    /// Replaces a store with a backup, or creates it from the backup.
    ///
    /// The backup, which may also be a store that another process writes, is first verified and copied as it is at one
    /// moment; then the store is replaced as a whole, or not at all. If the replacement is interrupted, the next
    /// ``open(at:protectedBy:options:)`` or restore finishes it. Other files in the directory, such as a key file, stay;
    /// but a wipe of the store that was interrupted is finished first, with all that it destroys. Readers in other
    /// processes must open the store again.
    ///
    /// - Parameters:
    ///   - backup: the directory of the backup.
    ///   - path: the directory of the store.
    ///   - protector: the store's protector when the backup was made.
    /// - Returns: the report on the backup, which is sound.
    /// - Throws: ``StoreError/Code/inUse`` if the store is open; ``StoreError/Code/damaged`` if the backup is damaged;
    ///   ``StoreError/Code/wrongKey``; ``StoreError/Code/full``. The store is unchanged then.
    @concurrent
    public static func restore(
        from backup: String, to path: String, protectedBy protector: any KeyProtector
    ) async throws(StoreError) -> VerificationReport {
        try finishInterrupted(at: path, protectedBy: protector)
        let source = try await open(at: backup, protectedBy: protector, options: .readOnly)
        defer { source.close() }
        try Files.makeDirectory(path)
        return try exclusively(at: path) { real throws(StoreError) in
            guard real != source.path else { throw StoreError(.inUse, "A backup cannot be restored onto itself.") }
            // Another process may have begun a wipe since and been killed. If the wipe has destroyed the secret of the
            // backup's keys, what is restored could not be opened.
            if try StoreDirectory.finishInterrupted(real, protectedBy: protector) {
                try KeyRingFile.open(in: source.path, protectedBy: protector).ring.clear()
            }
            let staging = "\(real)/\(StoreDirectory.stagingName)"
            try Files.makeDirectory(staging)
            do throws(StoreError) {
                let report = try source.copy(into: staging)
                try Files.rename(staging, to: "\(real)/\(StoreDirectory.restoringName)")
                try StoreDirectory.finishReplacement(real)
                return report
            } catch {
                try? StoreDirectory.discardStaging(real)
                throw error
            }
        }
    }

    /// Before the backup is opened: a wipe destroys the secret of a protector that lies in the directory, as if it had
    /// not been interrupted. The intent of a wipe would outlive the restore, and the next opening would destroy what
    /// was restored.
    private static func finishInterrupted(
        at path: String, protectedBy protector: any KeyProtector
    ) throws(StoreError) {
        guard StoreDirectory.isInterrupted(path) else { return }
        try exclusively(at: path) { real throws(StoreError) in
            _ = try StoreDirectory.finishInterrupted(real, protectedBy: protector)
        }
    }

    /// Runs `body` while no process writes the store and this process does not have it open.
    static func exclusively<Result>(
        at path: String, _ body: (_ real: String) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try StoreDirectory.checkAccess(path)
        let real = Files.realPath(path)
        try OpenDirectories.enter(real)
        defer { OpenDirectories.leave(real) }
        let lock = try WriterLock(directory: real)
        defer { lock.leaveAsFound() }
        return try body(real)
    }

    /// Whether the store came from a backup and ``acceptRestore()`` has not been called since: what it records of the
    /// time since the backup may be wrong.
    package var isRestored: Bool { Files.exists("\(path)/\(StoreDirectory.restoredName)") }

    /// Records that the store's user has taken note of the restore. Durable when it returns.
    package func acceptRestore() throws(StoreError) {
        guard isRestored else { return }
        guard writer != nil else { throw StoreError(.readOnly, "The store was opened read-only.") }
        try Files.remove("\(path)/\(StoreDirectory.restoredName)")
    }
}
