internal import COpenSSL

/// The authorities of one file, such as the system's, decoded once. OpenSSL 3 takes 0.1 ms to decode a certificate, so 15
/// to 20 ms for the 139 of Debian's file, and 0.2 ms to add them to a store that shares them.
@safe
final class SystemAuthorities: @unchecked Sendable {
    let stamp: FileStamp
    // SAFETY: constant after its creation, since no handshake looks anything up in it; OpenSSL counts the users of a
    // certificate and locks what it notes in one.
    private let contents: OpaquePointer

    /// Nil if the file cannot be read or has no certificate.
    init?(_ stamp: FileStamp) {
        guard let contents = unsafe X509_STORE_new() else { return nil }
        self.stamp = stamp
        unsafe self.contents = contents
        guard unsafe X509_STORE_load_file(contents, stamp.path) == 1 else {
            ERR_clear_error()
            return nil
        }
    }

    deinit { unsafe X509_STORE_free(contents) }

    /// - Returns: false if memory is exhausted.
    func add(to store: OpaquePointer) -> Bool { unsafe sallyport_add_contents(contents, store) == 1 }
}
