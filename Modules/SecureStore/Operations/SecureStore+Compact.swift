extension SecureStore {
    /// What ``SecureStore/compact(at:protectedBy:)`` did, in bytes of the data file.
    public struct Compaction: Sendable, Hashable {
        public let before: Int
        public let after: Int
    }

    /// Writes a store's data file anew without its free space, which LMDB keeps for later and never gives back.
    ///
    /// Needs space for both files. The store is verified on the way and stays as it is where anything goes wrong or is
    /// interrupted. Readers in other processes must open again.
    ///
    /// - Throws: ``StoreError/Code/inUse`` where the store is open; ``StoreError/Code/damaged``;
    ///   ``StoreError/Code/full``; and as ``open(at:protectedBy:options:)``.
    @concurrent
    public static func compact(
        at path: String, protectedBy protector: any KeyProtector
    ) async throws(StoreError) -> Compaction {
        try StoreDirectory.prepare(path, options: .existing)
        return try exclusively(at: path) { real throws(StoreError) in
            try StoreDirectory.finishRestore(real)
            let (ring, _) = try KeyRingFile.open(in: real, protectedBy: protector)
            defer { ring.clear() }
            let data = "\(real)/\(Environment.fileName)"
            let staging = "\(real)/\(StoreDirectory.stagingName)"
            try StoreDirectory.discardStaging(real)
            try Files.makeDirectory(staging)
            defer { try? StoreDirectory.discardStaging(real) }
            let before = try PageFile(data).length
            let environment = try Environment(directory: real, options: .existing)
            defer { environment.close() }
            _ = try StoreCopy.run(environment, path: data, ring: ring, into: staging)
            environment.close()
            let after = try PageFile("\(staging)/\(Environment.fileName)").length
            // Who has the old file open keeps its table of readers too.
            try Files.remove("\(real)/\(StoreDirectory.readersName)")
            try Files.rename("\(staging)/\(Environment.fileName)", to: data)
            return Compaction(before: before, after: after)
        }
    }
}
