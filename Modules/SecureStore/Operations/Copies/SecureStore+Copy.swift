extension SecureStore {
    private static let copyAttempts = 10

    /// Copies the newest snapshot and its keys into a directory, as a store that came from a backup.
    ///
    /// The keys must be those of the snapshot: another process may write the store meanwhile. If a rotation changes
    /// them, both are taken again.
    func copy(into directory: String) throws(StoreError) -> VerificationReport {
        for _ in 0..<Self.copyAttempts {
            let keys = try currentKeys()
            let report = try StoreCopy.run(environment, path: dataPath, ring: ring, into: directory)
            if try currentKeys() == keys {
                try Files.write(keys, to: "\(directory)/\(KeyRingFile.name)", mode: 0o600, mustBeNew: true)
                try Files.write([], to: "\(directory)/\(StoreDirectory.restoredName)", mode: 0o600, mustBeNew: true)
                try Files.syncDirectory(of: "\(directory)/\(KeyRingFile.name)")
                return report
            }
            try Files.remove("\(directory)/\(Environment.fileName)")
        }
        throw StoreError(.inUse, "The store's keys change faster than it can be copied.")
    }

    /// - Throws: ``StoreError/Code/closed`` if a wipe has destroyed them, which it does before it closes the store.
    private func currentKeys() throws(StoreError) -> [UInt8] {
        do throws(StoreError) { return try StoreDirectory.keys(in: path) } catch {
            guard error.code == .notFound, environment.isRefusing else { throw error }
            throw StoreError(.closed, "The store is closed.")
        }
    }
}
