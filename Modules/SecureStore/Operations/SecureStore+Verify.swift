extension SecureStore {
    /// Checks everything: LMDB's pages, by a walk that trusts nothing in them; every record; and each collection's
    /// authenticated count and sum.
    ///
    /// Damage is reported and never ends the process. Reads the data file once, with one page in memory at a time and
    /// one byte for each page. The store can be used meanwhile, but freed space is reused only afterwards.
    ///
    /// - Throws: ``StoreError/Code/cancelled`` if the task is cancelled or the store closed meanwhile,
    ///   ``StoreError/Code/closed``, ``StoreError/Code/fileSystem`` if the file cannot be read.
    @concurrent
    public func verify() async throws(StoreError) -> VerificationReport {
        try StoreCheck.run(environment, path: dataPath, ring: ring)
    }

    /// Checks a store that is not open in this process, even one that is too damaged to be opened; another process may
    /// write it.
    ///
    /// - Throws: as ``open(at:protectedBy:options:)``, except for damage of the data file, which is reported.
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
        // When it opens a file, LMDB itself reads only the meta pages: if they are sound, it can keep a writer from
        // reusing the snapshot's pages.
        let first = try StoreCheck.metaPages(of: PageFile(data))
        guard first.isSound else { return first }
        let environment = try Environment(directory: real, options: .readOnly)
        defer { environment.close() }
        return try StoreCheck.run(environment, path: data, ring: ring)
    }
}
