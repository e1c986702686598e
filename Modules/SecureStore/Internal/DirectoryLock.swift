internal import Glibc

/// The lock on a store's directory (flock(2)) under which its files are replaced, or made.
///
/// LMDB opens the data file and then the table of readers, each by its name. A process that opened the first before a
/// replacement and the second after it would enter itself in another file's table: nothing would keep its pages, and
/// the writer could go on from a commit of the wrong file. ``WriterLock`` keeps writers away while files are replaced;
/// processes that only read share this lock while they open both files.
enum DirectoryLock {
    /// Each holder only opens or renames a few files: one that keeps the lock for these five seconds must have been
    /// stopped.
    private static let attempts = 500
    private static let pause: UInt32 = 10_000

    static func whileOpening<Result>(
        _ directory: String, _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try hold(LOCK_SH, directory, body)
    }

    static func whileReplacing<Result>(
        _ directory: String, _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try hold(LOCK_EX, directory, body)
    }

    /// Runs `body` as the only one that fills a directory, which becomes a store when it gets another name.
    ///
    /// What is there may have been left by an interrupted attempt, or put there by another user: one who can reach it
    /// could change the store, and a link would lead to a directory with files that must not be removed.
    ///
    /// - Throws: ``StoreError/Code/inUse`` at once if another one fills it, or has just given it its other name;
    ///   ``StoreError/Code/unsafePermissions`` if others can reach it or it belongs to another user;
    ///   ``StoreError/Code/fileSystem`` if it is a link or no directory.
    static func whileMaking<Result>(
        _ directory: String, _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try withDescriptor(of: directory, flags: O_NOFOLLOW) { descriptor throws(StoreError) in
            try PrivateAccess.check(directory: directory, openAs: descriptor)
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0,
                FileIdentity(descriptor: descriptor) == FileIdentity(directory)
            else { throw StoreError(.inUse, "Another backup is made in \(directory).") }
            return try body()
        }
    }

    private static func hold<Result>(
        _ mode: Int32, _ directory: String, _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try withDescriptor(of: directory) { descriptor throws(StoreError) in
            for _ in 0..<attempts {
                if flock(descriptor, mode | LOCK_NB) == 0 { return try body() }
                usleep(pause)
            }
            throw StoreError(.inUse, "Another process opens or replaces the files of the store at \(directory).")
        }
    }

    private static func withDescriptor<Result>(
        of directory: String, flags: Int32 = 0, _ body: (Int32) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags)
        guard descriptor >= 0 else { throw Files.failure("open", directory) }
        defer {
            // A child that was forked meanwhile shares the lock, and closing alone would leave it locked.
            flock(descriptor, LOCK_UN)
            close(descriptor)
        }
        return try body(descriptor)
    }
}
