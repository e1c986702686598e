internal import Glibc

/// The rule for directories of stores and for files with secrets: only the owner may reach them, and the owner is this
/// process's effective user or root, who can read and change everything anyway.
enum PrivateAccess {
    /// - Parameters:
    ///   - what: names the file or directory in the error, such as `The key file /etc/key`.
    ///   - mode: what the advice in the error says.
    ///   - user: whom the process acts as.
    /// - Throws: ``StoreError/Code/unsafePermissions``.
    static func check(
        _ info: stat, _ what: String, mode: String, user: uid_t = geteuid()
    ) throws(StoreError) {
        guard info.st_mode & 0o077 == 0 else {
            throw StoreError(.unsafePermissions, "\(what) can be reached by others: chmod \(mode) it.")
        }
        try checkOwner(info, what, user: user)
    }

    /// For a file in a directory that was checked, where its own mode opens it to nobody.
    static func checkOwner(_ info: stat, _ what: String, user: uid_t = geteuid()) throws(StoreError) {
        guard info.st_uid == user || info.st_uid == 0 else {
            throw StoreError(.unsafePermissions, "\(what) belongs to another user, with the number \(info.st_uid).")
        }
    }

    /// A store's directory.
    static func check(directory path: String) throws(StoreError) {
        try check(Files.status(of: path), "The directory \(path)", mode: "700")
    }
}

/// A file that holds a secret for a store: a key or a passphrase.
package enum SecretFile {
    /// Hands the content to `body` and clears it afterwards.
    ///
    /// - Parameter kind: names the file in errors, such as `key file`.
    /// - Throws: ``StoreError/Code/unsafePermissions`` where others can reach the file, or it belongs to another user than
    ///   the process's effective one and root; ``StoreError/Code/tooLarge``; ``StoreError/Code/notFound``.
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

    /// The content, at most `limit` bytes; else as ``withContent(_:kind:upTo:_:)``.
    package static func read(_ path: String, kind: String, upTo limit: Int) throws(StoreError) -> [UInt8] {
        try unsafe withContent(path, kind: kind, upTo: limit) { unsafe Array($0) }
    }
}
