extension SecureStore {
    /// Checks everything: LMDB's pages, by a walk that trusts nothing in them; every record; and each collection's
    /// authenticated count and sum.
    ///
    /// Damage is in the report and never ends the process. Reads the data file once, one page in memory at a time
    /// and one byte for each page; the store can be read and written meanwhile, but space that is let go of is used
    /// again only afterwards.
    ///
    /// - Throws: ``StoreError/Code/cancelled`` where the task is cancelled or the store closed meanwhile,
    ///   ``StoreError/Code/closed``, ``StoreError/Code/fileSystem`` where the file cannot be read.
    @concurrent
    public func verify() async throws(StoreError) -> VerificationReport {
        try StoreCheck.run(environment, path: dataPath, ring: ring)
    }

    /// Checks a store that is not open here, also one that is too damaged to be opened; another process may write it.
    ///
    /// - Throws: as ``open(at:protectedBy:options:)`` does, but for damage of the data file, which is in the report.
    @concurrent
    public static func verify(
        at path: String, protectedBy protector: any KeyProtector
    ) async throws(StoreError) -> VerificationReport {
        try StoreDirectory.prepare(path, options: .readOnly)
        let real = Files.realPath(path)
        let (ring, _) = try KeyRingFile.open(in: real, protectedBy: protector)
        let data = "\(real)/\(Environment.fileName)"
        try OpenDirectories.enter(real)
        defer { OpenDirectories.leave(real) }
        // LMDB itself reads the meta pages when it opens a file, and nothing else: where they are sound it can hold
        // the snapshot against a writer.
        let first = try StoreCheck.metaPages(of: PageFile(data))
        guard first.isSound else { return first }
        let environment = try Environment(directory: real, options: .readOnly)
        defer { environment.close() }
        return try StoreCheck.run(environment, path: data, ring: ring)
    }
}
