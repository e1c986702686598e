extension SecureStore {
    /// The result of ``SecureStore/compact(at:protectedBy:)``: the size of the data file, in bytes.
    public struct Compaction: Sendable, Hashable {
        /// In bytes.
        public let before: Int
        /// In bytes.
        public let after: Int
    }

    /// Rewrites a store's data file without its free space, which LMDB keeps for later and never gives back to the
    /// system.
    ///
    /// Needs space for both files. The store is verified during the copy and stays unchanged after an error or an
    /// interruption before the copy is whole; if the replacement is interrupted, the next
    /// ``open(at:protectedBy:options:)`` finishes it. Readers in other processes must open the store again.
    ///
    /// - Throws: ``StoreError/Code/inUse`` if the store is open; ``StoreError/Code/damaged``; ``StoreError/Code/full``;
    ///   otherwise as ``open(at:protectedBy:options:)``.
    @concurrent
    public static func compact(
        at path: String, protectedBy protector: any KeyProtector
    ) async throws(StoreError) -> Compaction {
        try StoreDirectory.prepare(path, options: .existing)
        return try exclusively(at: path) { real throws(StoreError) in
            guard try !StoreDirectory.finishInterrupted(real, protectedBy: protector) else {
                throw StoreError(.wiped, "The store at \(path) was wiped.")
            }
            let (ring, _) = try KeyRingFile.open(in: real, protectedBy: protector)
            defer { ring.clear() }
            let data = "\(real)/\(Environment.fileName)"
            let staging = "\(real)/\(StoreDirectory.stagingName)"
            try Files.makeDirectory(staging)
            defer { try? StoreDirectory.discardStaging(real) }
            let before = try PageFile(data).length
            let environment = try Environment(directory: real, options: .existing)
            defer { environment.close() }
            _ = try StoreCopy.run(environment, path: data, ring: ring, into: staging)
            environment.close()
            let after = try PageFile("\(staging)/\(Environment.fileName)").length
            try Files.syncDirectory(of: "\(staging)/\(Environment.fileName)")
            try Files.rename(staging, to: "\(real)/\(StoreDirectory.restoringName)")
            try StoreDirectory.finishReplacement(real)
            return Compaction(before: before, after: after)
        }
    }
}
