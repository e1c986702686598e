internal import COpenSSL
package import SallyportBase
package import SallyportCore

/// Reads client identities from the contents of files. Certificate and key must belong together.
package enum IdentityReader {
    /// - Parameters:
    ///   - certificates: the leaf first; DER.
    ///   - key: PEM: PKCS#8, PKCS#1 or SEC 1, encrypted or not.
    /// - Throws: `fileSystem` if the key cannot be read, or does not belong to the certificate.
    package static func identity(
        certificates: [[UInt8]], key: [UInt8], password: Redacted<String>?
    ) throws(LoadError) -> ClientIdentity {
        let found = unsafe key.withUnsafeBytes { bytes in
            unsafe sallyport_read_key(bytes.baseAddress, Int32(clamping: bytes.count), password?.reveal())
        }
        guard let found = unsafe found else {
            throw failure(
                password == nil
                    ? "There is no private key that can be read without a password."
                    : "The private key cannot be read with this password.")
        }
        defer { unsafe EVP_PKEY_free(found) }
        guard let first = certificates.first, let leaf = unsafe ShownChain.read(first) else {
            throw failure("The certificate of the identity cannot be read.")
        }
        defer { unsafe X509_free(leaf) }
        guard unsafe X509_check_private_key(leaf, found) == 1 else {
            throw failure("The private key is not the certificate's.")
        }
        return try unsafe ClientIdentity(certificates: certificates, privateKey: pem(found))
    }

    /// - Parameter archive: PKCS#12 (RFC 7292).
    /// - Throws: `fileSystem` if it cannot be read, or has no certificate with a key.
    package static func identity(pkcs12 archive: [UInt8], password: Redacted<String>) throws(LoadError)
        -> ClientIdentity
    {
        guard let parsed = unsafe parse(archive) else { throw failure("The file is not PKCS#12.") }
        defer { unsafe PKCS12_free(parsed) }
        var (key, leaf, others): (OpaquePointer?, OpaquePointer?, OpaquePointer?) = (nil, nil, nil)
        let isRead = unsafe PKCS12_parse(parsed, password.reveal(), &key, &leaf, &others) == 1
        ERR_clear_error()
        defer {
            unsafe EVP_PKEY_free(key)
            unsafe X509_free(leaf)
            unsafe sallyport_free_chain(others)
        }
        guard isRead else {
            throw failure("The password is another, or the file is encrypted as OpenSSL 3 no longer reads (RC2).")
        }
        guard let key = unsafe key, let leaf = unsafe leaf else {
            throw failure("The PKCS#12 file has no certificate with a private key.")
        }
        let own = try unsafe bytes { bytes in unsafe i2d_X509(leaf, bytes) }
        return try unsafe ClientIdentity(certificates: [own] + authorities(others), privateKey: pem(key))
    }

    private static func parse(_ archive: [UInt8]) -> OpaquePointer? {
        unsafe archive.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_PKCS12(nil, &start, buffer.count)
        }
    }

    private static func authorities(_ chain: OpaquePointer?) -> [[UInt8]] {
        unsafe (0..<sallyport_chain_count(chain)).map { unsafe ShownChain.certificate(chain, $0) }
    }

    private static func pem(_ key: OpaquePointer) throws(LoadError) -> Redacted<String> {
        let bytes = try unsafe bytes { bytes in
            unsafe sallyport_key(key, bytes?.pointee)
        }
        return Redacted(PEM.text("PRIVATE KEY", bytes))
    }

    /// The output of one of OpenSSL's `i2d_…` functions: called for the length first.
    private static func bytes(
        _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
    ) throws(LoadError) -> [UInt8] {
        let count = write(nil)
        guard count > 0 else { throw failure("The identity cannot be written as DER.") }
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, length in
            var position = buffer.baseAddress
            let written = unsafe write(&position)
            length = max(0, Int(written))
        }
    }

    private static func failure(_ message: String) -> LoadError { LoadError(.fileSystem, message) }
}
