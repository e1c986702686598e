internal import COpenSSL
internal import Glibc

/// TLS of a server that shows any chain, speaks any protocol of ALPN, and ends a handshake where a test wants it to.
package struct RawTLS: Sendable {
    /// PEM: the server's own certificate first, and the others in the order in which they are sent.
    package var chain: [String]
    /// PEM.
    package var key: String
    /// The one protocol that it takes (RFC 7301).
    package var applicationProtocol: String?
    /// The alert with which it answers the first message (RFC 8446 §6).
    package var alert: UInt8?
    package var isAtMostTLS12 = false

    package init(chain: [String], key: String) { (self.chain, self.key) = (chain, key) }

    package init(_ identity: TestIdentity) throws { try self.init(chain: [identity.pem], key: identity.keyPEM) }

    /// Makes the handshake as the server; nil where it fails.
    package func accept(_ connection: TestConnection) -> TestTLSConnection? {
        guard let context = SSL_CTX_new(TLS_server_method()) else { return nil }
        defer { SSL_CTX_free(context) }
        // Weak keys and digests are what some tests are about.
        SSL_CTX_set_security_level(context, 0)
        if isAtMostTLS12 { _ = SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, 0x0303, nil) }
        guard useIdentity(context), let tls = SSL_new(context) else { return nil }
        let choice = Choice(applicationProtocol, alert)
        choice.apply(to: context)
        SSL_set_fd(tls, connection.descriptor)
        let isAccepted = withExtendedLifetime(choice) { SSL_accept(tls) == 1 }
        guard isAccepted else {
            SSL_free(tls)
            return nil
        }
        return TestTLSConnection(tls, connection.descriptor)
    }

    private func useIdentity(_ context: OpaquePointer) -> Bool {
        for (index, pem) in chain.enumerated() {
            let certificate = Self.read(pem) { PEM_read_bio_X509($0, nil, nil, nil) }
            guard let certificate else { return false }
            if index == 0 {
                guard SSL_CTX_use_certificate(context, certificate) == 1 else { return false }
                X509_free(certificate)
            } else {
                _ = SSL_CTX_ctrl(context, SSL_CTRL_EXTRA_CHAIN_CERT, 0, UnsafeMutableRawPointer(certificate))
            }
        }
        guard let key = Self.read(key, { PEM_read_bio_PrivateKey($0, nil, nil, nil) }) else { return false }
        defer { EVP_PKEY_free(key) }
        return SSL_CTX_use_PrivateKey(context, key) == 1
    }

    private static func read(_ text: String, _ body: (OpaquePointer?) -> OpaquePointer?) -> OpaquePointer? {
        Array(text.utf8).withUnsafeBytes { buffer in
            let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count))
            defer { BIO_free(bio) }
            return body(bio)
        }
    }
}

/// What OpenSSL asks for while it makes a handshake; it lives as long.
private final class Choice {
    let applicationProtocol: [UInt8]?
    let alert: UInt8?

    init(_ applicationProtocol: String?, _ alert: UInt8?) {
        self.applicationProtocol = applicationProtocol.map { Array($0.utf8) }
        self.alert = alert
    }

    func apply(to context: OpaquePointer) {
        let pointer = Unmanaged.passUnretained(self).toOpaque()
        if applicationProtocol != nil { SSL_CTX_set_alpn_select_cb(context, chooseProtocol, pointer) }
        if alert != nil { SSL_CTX_set_client_hello_cb(context, answerHello, pointer) }
    }
}

private func chooseProtocol(
    _: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ length: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?, _ count: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context, let wanted = Unmanaged<Choice>.fromOpaque(context).takeUnretainedValue().applicationProtocol
    else { return SSL_TLSEXT_ERR_NOACK }
    var rest = UnsafeBufferPointer(start: offered, count: Int(count))[...]
    while let size = rest.popFirst(), rest.count >= size {
        let name = rest.prefix(Int(size))
        rest = rest.dropFirst(Int(size))
        guard name.elementsEqual(wanted), let offered else { continue }
        chosen?.pointee = offered + name.startIndex
        length?.pointee = size
        return SSL_TLSEXT_ERR_OK
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}

private func answerHello(
    _: OpaquePointer?, _ alert: UnsafeMutablePointer<Int32>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context, let wanted = Unmanaged<Choice>.fromOpaque(context).takeUnretainedValue().alert else {
        return SSL_CLIENT_HELLO_SUCCESS
    }
    alert?.pointee = Int32(wanted)
    return SSL_CLIENT_HELLO_ERROR
}

extension TestTLSConnection {
    /// Lets this side believe that it got a broken record, so that it sends a fatal alert (`bad_record_mac`).
    package func sendAlert() {
        let garbage: [UInt8] = [0x17, 3, 3, 0, 0x20] + [UInt8](repeating: 7, count: 0x20)
        let bio = BIO_new(BIO_s_mem())
        garbage.withUnsafeBytes { _ = BIO_write(bio, $0.baseAddress, Int32($0.count)) }
        SSL_set0_rbio(tls, bio)
        _ = read()
    }
}
