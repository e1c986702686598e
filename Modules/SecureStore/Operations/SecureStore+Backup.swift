extension SecureStore {
    /// Copies the store's state at one moment into a new directory, while the store is in use.
    ///
    /// The copy is encrypted with the same keys, which it contains wrapped by the protector of that moment; it has no
    /// free space. Everything is verified during the copy. The directory appears when the copy is complete and durable,
    /// or not at all; an interrupted copy leaves `PATH.partial`, which the next backup makes anew, unless others can
    /// reach it or it holds files that no copy makes. The copy is itself a store, and can be verified or opened
    /// read-only.
    ///
    /// - Parameter target: must not exist, but its parent directory must.
    /// - Returns: the report on the copy, which is sound.
    /// - Throws: ``StoreError/Code/damaged`` if the store is damaged, ``StoreError/Code/full``,
    ///   ``StoreError/Code/inUse`` if another backup with the same target is under way,
    ///   ``StoreError/Code/unsafePermissions`` if `PATH.partial` is there and others can reach it, or belongs to a user
    ///   other than root and the process's effective user,
    ///   ``StoreError/Code/fileSystem`` if the target is there, or `PATH.partial` is a link or holds other files than
    ///   those of a copy; they stay as they are,
    ///   ``StoreError/Code/cancelled`` if the task is cancelled or the store closed meanwhile,
    ///   ``StoreError/Code/closed``.
    @concurrent
    public func backup(to target: String) async throws(StoreError) -> VerificationReport {
        let target = Self.withoutFinalSlashes(target)
        try Self.checkIsNew(target)
        let partial = "\(target).partial"
        try Files.makeDirectoryAlone(partial)
        return try DirectoryLock.whileMaking(partial) { () throws(StoreError) in
            // What an interrupted backup left.
            try Self.checkIsCopy(partial)
            try Files.removeFiles(in: partial)
            do throws(StoreError) {
                let report = try copy(into: partial)
                try Self.checkIsNew(target)
                try Files.rename(partial, to: target)
                return report
            } catch {
                try? Files.removeDirectory(partial)
                throw error
            }
        }
    }

    /// A directory's path may end with slashes, behind which `.partial` would lie in the target itself. To `String`, a
    /// slash and a combining mark behind it are one character, so that this looks at bytes.
    private static func withoutFinalSlashes(_ path: String) -> String {
        var bytes = Array(path.utf8)
        while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Refuses a directory that may be the user's own, with files that neither a copy nor a reader of one makes. Every
    /// store that was ever opened for writing has such a file, that of ``WriterLock``.
    private static func checkIsCopy(_ partial: String) throws(StoreError) {
        let made = [
            Environment.fileName, KeyRingFile.name, StoreDirectory.restoredName, StoreDirectory.readersName,
        ]
        guard let other = try Files.names(in: partial).first(where: { !made.contains($0) }) else { return }
        throw StoreError(
            .fileSystem, "\(partial) was not made by a backup, since it holds '\(other)'; move it away.")
    }

    private static func checkIsNew(_ target: String) throws(StoreError) {
        guard FileIdentity(target) == nil else {
            throw StoreError(.fileSystem, "\(target) is there already; a backup makes a new directory.")
        }
    }
}
