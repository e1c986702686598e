extension SecureStore {
    /// Copies the store as it is at one moment into a new directory, while it is read and written.
    ///
    /// The copy is encrypted with the same keys, which lie in it wrapped by the protector of that moment; it holds no
    /// free space. Everything is verified on the way. The directory appears when the copy is whole and durable, or not
    /// at all; `PATH.partial` is what an interrupted one leaves, and the next backup removes it. It is a store itself,
    /// and can be verified or opened read-only as it is.
    ///
    /// - Parameter target: must not exist; the directory above it must.
    /// - Returns: the report of the check of the copy, which is sound.
    /// - Throws: ``StoreError/Code/damaged`` where the store is, ``StoreError/Code/full``,
    ///   ``StoreError/Code/cancelled`` where the task is cancelled or the store closed meanwhile.
    @concurrent
    public func backup(to target: String) async throws(StoreError) -> VerificationReport {
        guard !Files.exists(target) else { throw StoreError(.fileSystem, "There is a \(target) already.") }
        let partial = "\(target).partial"
        try Files.removeDirectory(partial)
        try Files.makeDirectory(partial)
        do throws(StoreError) {
            let report = try copy(to: partial)
            guard !Files.exists(target) else { throw StoreError(.fileSystem, "There is a \(target) already.") }
            try Files.rename(partial, to: target)
            return report
        } catch {
            try? Files.removeDirectory(partial)
            throw error
        }
    }

    /// The keys must be those of the snapshot: a rotation may add and retire some meanwhile, and then both are taken
    /// again.
    private func copy(to partial: String) throws(StoreError) -> VerificationReport {
        for _ in 0..<Self.copyAttempts {
            let keys = try StoreDirectory.keys(in: path)
            let report = try StoreCopy.run(environment, path: dataPath, ring: ring, into: partial)
            if try StoreDirectory.keys(in: path) == keys {
                try Files.write(keys, to: "\(partial)/\(KeyRingFile.name)", mode: 0o600, mustBeNew: true)
                try Files.write([], to: "\(partial)/\(StoreDirectory.restoredName)", mode: 0o600, mustBeNew: true)
                try Files.syncDirectory(of: "\(partial)/\(KeyRingFile.name)")
                return report
            }
            try Files.remove("\(partial)/\(Environment.fileName)")
        }
        throw StoreError(.inUse, "The store's keys change faster than it can be copied.")
    }

    private static let copyAttempts = 10
}
