internal import Glibc

/// The access rule for directories of stores and for files with secrets: only the owner may reach them, and the owner
/// is this process's effective user, or root, which can read and change everything anyway.
enum PrivateAccess {
    /// - Parameters:
    ///   - what: The name of the file or directory in the error, such as `The key file /etc/key`.
    ///   - mode: The mode that the error advises.
    ///   - user: The user as which the process acts.
    /// - Throws: ``StoreError/Code/unsafePermissions``.
    static func check(
        _ info: stat, _ what: String, mode: String, user: uid_t = geteuid()
    ) throws(StoreError) {
        guard info.st_mode & 0o077 == 0 else {
            throw StoreError(.unsafePermissions, "\(what) can be reached by others: chmod \(mode) it.")
        }
        try checkOwner(info, what, user: user)
    }

    /// Checks the owner alone: for a file in a checked directory, whose own mode cannot open it to other users.
    static func checkOwner(_ info: stat, _ what: String, user: uid_t = geteuid()) throws(StoreError) {
        guard info.st_uid == user || info.st_uid == 0 else {
            throw StoreError(
                .unsafePermissions,
                "\(what) belongs to the user with the number \(info.st_uid), and this process is of number \(user): run "
                    + "it as the owner.")
        }
    }

    /// Checks a store's directory.
    static func check(directory path: String) throws(StoreError) {
        let info = try Files.status(of: path, to: "enter")
        guard info.st_mode & S_IFMT == S_IFDIR else {
            throw StoreError(.fileSystem, "\(path) is not a directory.")
        }
        try check(info, "The directory \(path)", mode: "700")
    }

    /// Checks a directory that is open: nothing can take its place meanwhile.
    static func check(directory path: String, openAs descriptor: Int32) throws(StoreError) {
        var info = stat()
        guard unsafe fstat(descriptor, &info) == 0 else { throw Files.failure("look at", path) }
        try check(info, "The directory \(path)", mode: "700")
    }
}

/// A file that holds a secret for a store: a key or a passphrase.
package enum SecretFile {
    /// Hands the content to `body` and clears it afterwards.
    ///
    /// - Parameter kind: The kind of file that errors name, such as `key file`.
    /// - Throws: ``StoreError/Code/unsafePermissions`` if other users can reach the file, or if it belongs to a user
    ///   other than root and the process's effective user; ``StoreError/Code/tooLarge``; ``StoreError/Code/notFound``.
    static func withContent<Result>(
        _ path: String, kind: String, upTo limit: Int,
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        try unsafe Files.withSecret(
            path, upTo: limit,
            checking: { info throws(StoreError) in
                try PrivateAccess.check(info, "The \(kind) \(path)", mode: "600")
            }, body)
    }

    /// The content of the file, at most `limit` bytes. Throws as ``withContent(_:kind:upTo:_:)`` does.
    package static func read(_ path: String, kind: String, upTo limit: Int) throws(StoreError) -> [UInt8] {
        try unsafe withContent(path, kind: kind, upTo: limit) { unsafe Array($0) }
    }
}
