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
    /// write it, restore it or compact it. If the file is replaced meanwhile, the new one is checked.
    ///
    /// - Throws: as ``open(at:protectedBy:options:)``, except for damage of the data file, which is reported;
    ///   ``StoreError/Code/inUse`` if the file is replaced ten times before it can be checked.
    @concurrent
    public static func verify(
        at path: String, protectedBy protector: any KeyProtector
    ) async throws(StoreError) -> VerificationReport {
        let real = Files.realPath(path)
        try OpenDirectories.enter(real)
        defer { OpenDirectories.leave(real) }
        for _ in 0..<verifyAttempts {
            try StoreDirectory.prepare(path, options: .readOnly)
            let data = "\(real)/\(Environment.fileName)"
            try Environment.checkExists(data)
            let file = try PageFile(data)
            let outcome = Result { () throws(StoreError) in
                try verify(file, at: data, in: real, protectedBy: protector)
            }
            if case .success(let report) = outcome, report.isSound { return report }
            // Keys and data may be of different stores if they were replaced in between: neither an error nor a finding
            // says anything then.
            if FileIdentity(data) == file.identity { return try outcome.get() }
        }
        throw StoreError(.inUse, "The store at \(path) is replaced faster than it can be checked.")
    }

    private static let verifyAttempts = 10

    /// - Parameter file: the data file, which may have been replaced since it was opened.
    private static func verify(
        _ file: PageFile, at data: String, in directory: String, protectedBy protector: any KeyProtector
    ) throws(StoreError) -> VerificationReport {
        let (ring, _) = try KeyRingFile.open(in: directory, protectedBy: protector)
        // The process that writes the store may make a data key before the snapshot is taken.
        ring.follow(KeyReader(path: directory, protector: protector, memory: ring.memory))
        // When it opens a file, LMDB itself reads only the meta pages: if they are sound, it can keep a writer from
        // reusing the snapshot's pages.
        let first = try StoreCheck.metaPages(of: file)
        guard first.isSound else { return first }
        let environment = try Environment(directory: directory, options: .readOnly)
        defer { environment.close() }
        return try StoreCheck.run(environment, path: data, ring: ring)
    }
}
