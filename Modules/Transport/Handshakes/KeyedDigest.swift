internal import COpenSSL

/// HMAC-SHA-256 (RFC 2104).
package enum KeyedDigest {
    /// 32 bytes.
    package static func code(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            let made = unsafe HMAC(
                EVP_sha256(), key, Int32(clamping: key.count), bytes, bytes.count, buffer.baseAddress, nil)
            precondition(unsafe made != nil, "OpenSSL has HMAC-SHA-256.")
            count = 32
        }
    }
}
