internal import CCurl
internal import CIdentitySigner
internal import COpenSSL

/// Global initialization. Never undone: FoundationNetworking may use the same libcurl.
enum CurlLibrary {
    /// The slot of an `SSL_CTX` that holds our ``HandshakeRecord``.
    static let recordIndex: Int32 = {
        unsafe CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL_CTX, 0, nil, nil, nil, releaseRecord)
    }()

    /// The slot of an `SSL` that holds its ``HandshakeRecord``. Through the slot, OpenSSL tells the record that it
    /// frees the `SSL`.
    static let noteIndex: Int32 = {
        unsafe CRYPTO_get_ex_new_index(CRYPTO_EX_INDEX_SSL, 0, nil, nil, nil, connectionFreed)
    }()

    private static let initialResult = sallyport_curl_global_init()

    private static let hasSigners = sallyport_prepare_signers()

    /// Whether a handle that has read one answer may read another. Before 8.1.0, libcurl adds a folded line that follows
    /// the status line to the last field of the handle's last answer, whose memory is freed.
    static let handlesServeAgain = unsafe curl_version_info(CURLVERSION_SEVENTH).pointee.version_num >= 0x08_0100

    static func prepare() {
        precondition(initialResult == CURLE_OK, "libcurl can be initialised.")
        precondition(hasSigners == 1, "OpenSSL has memory for its methods.")
        _ = (recordIndex, noteIndex)
    }
}

private func releaseRecord(
    _: UnsafeMutableRawPointer?, record: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CRYPTO_EX_DATA>?, _: Int32,
    _: Int, _: UnsafeMutableRawPointer?
) {
    guard let record = unsafe record else { return }
    unsafe Unmanaged<HandshakeRecord>.fromOpaque(record).release()
}

/// Called for every `SSL` of the process; one that is not ours has no record.
private func connectionFreed(
    connection: UnsafeMutableRawPointer?, note: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CRYPTO_EX_DATA>?,
    _: Int32, _: Int, _: UnsafeMutableRawPointer?
) {
    guard let note = unsafe note else { return }
    let record = unsafe Unmanaged<HandshakeRecord>.fromOpaque(note).takeRetainedValue()
    unsafe record.forget(connection.map { OpaquePointer($0) })
}
