internal import COpenSSL
internal import Glibc
internal import SallyportBase
package import SallyportCore

/// What a test server shows in TLS, and what it asks for.
package struct TestTLS: Sendable {
    package var identity: TestIdentity
    /// The authority of the client certificates that are required; nil where none is asked for.
    package var clientAuthority: TestAuthority?
    /// The only version that is spoken; nil for what OpenSSL speaks.
    package var version: TLSVersion?
    /// The lowest version that is spoken; nil for OpenSSL's own.
    package var minimumVersion: TLSVersion?
    /// Whether the authority of client certificates is named to the client.
    package var namesAuthority = false
    /// What is chosen in ALPN where the client offers it; anything else is refused. Nil for no ALPN.
    package var applicationProtocol: String?
    /// The OCSP answer that is stapled where the client asks for one.
    package var staple: [UInt8]?

    package init(_ identity: TestIdentity, requiring clientAuthority: TestAuthority? = nil) {
        self.identity = identity
        self.clientAuthority = clientAuthority
    }

    /// Makes the handshake as the server; nil where it fails.
    package func accept(_ connection: TestConnection) -> TestTLSConnection? {
        guard let context = SSL_CTX_new(TLS_server_method()) else { return nil }
        defer { SSL_CTX_free(context) }
        guard (try? use(context)) != nil, let tls = SSL_new(context) else { return nil }
        SSL_set_fd(tls, connection.descriptor)
        setStaple(tls)
        guard SSL_accept(tls) == 1 else {
            SSL_free(tls)
            return nil
        }
        return TestTLSConnection(tls, connection.descriptor)
    }

    /// OpenSSL frees the bytes.
    private func setStaple(_ tls: OpaquePointer) {
        guard let staple, let bytes = CRYPTO_malloc(staple.count, nil, 0) else { return }
        bytes.copyMemory(from: staple, byteCount: staple.count)
        SSL_ctrl(tls, SSL_CTRL_SET_TLSEXT_STATUS_REQ_OCSP_RESP, staple.count, bytes)
    }

    private func limit(_ context: OpaquePointer) {
        guard let minimum = version ?? minimumVersion else { return }
        SSL_CTX_set_cipher_list(context, "DEFAULT:@SECLEVEL=0")
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Self.number(minimum), nil)
        if let version { SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Self.number(version), nil) }
    }

    private static func number(_ version: TLSVersion) -> Int {
        switch version {
        case .tls10: 0x0301
        case .tls11: 0x0302
        case .tls12: 0x0303
        case .tls13: 0x0304
        }
    }

    private func use(_ context: OpaquePointer) throws {
        limit(context)
        if let applicationProtocol {
            SSL_CTX_set_alpn_select_cb(context, chooseProtocol, ProtocolNames.wire(of: applicationProtocol))
        }
        if staple != nil { sallyport_ask_for_staple(context) { _, _ in 0 } }
        var identifier: [UInt8] = [1]
        SSL_CTX_set_session_id_context(context, &identifier, 1)
        try withBIO(identity.pem) { bio in
            let certificate = PEM_read_bio_X509(bio, nil, nil, nil)
            SSL_CTX_use_certificate(context, certificate)
            X509_free(certificate)
        }
        withBIO(identity.keyPEM) { bio in
            let key = PEM_read_bio_PrivateKey(bio, nil, nil, nil)
            SSL_CTX_use_PrivateKey(context, key)
            EVP_PKEY_free(key)
        }
        guard let clientAuthority else { return }
        try withBIO(clientAuthority.pem) { bio in
            let authority = PEM_read_bio_X509(bio, nil, nil, nil)
            X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority)
            if namesAuthority { SSL_CTX_add_client_CA(context, authority) }
            X509_free(authority)
        }
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
    }

    private func withBIO(_ text: String, _ body: (OpaquePointer?) -> Void) {
        let bytes = Array(text.utf8)
        bytes.withUnsafeBytes { buffer in
            let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count))
            body(bio)
            BIO_free(bio)
        }
    }
}

/// Names of ALPN as OpenSSL takes them, made once for the process.
private enum ProtocolNames {
    private static let known = Lock<[String: UInt]>([:])

    static func wire(of name: String) -> UnsafeMutableRawPointer? {
        let address = known.withLock { known in
            if let address = known[name] { return address }
            let bytes = [UInt8(name.utf8.count)] + Array(name.utf8)
            let room = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count)
            room.initialize(from: bytes, count: bytes.count)
            let address = UInt(bitPattern: room)
            known[name] = address
            return address
        }
        return UnsafeMutableRawPointer(bitPattern: address)
    }
}

private func chooseProtocol(
    _: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ length: UnsafeMutablePointer<UInt8>?,
    _ offered: UnsafePointer<UInt8>?, _ count: UInt32, _ own: UnsafeMutableRawPointer?
) -> Int32 {
    guard let own = own?.assumingMemoryBound(to: UInt8.self) else { return SSL_TLSEXT_ERR_NOACK }
    var found: UnsafeMutablePointer<UInt8>?
    let result = SSL_select_next_proto(&found, length, own, UInt32(own[0]) + 1, offered, count)
    chosen?.pointee = UnsafePointer(found)
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL
}

/// A TLS connection of a test server, with blocking calls. For one thread.
package final class TestTLSConnection {
    let tls: OpaquePointer
    package let descriptor: Int32

    init(_ tls: OpaquePointer, _ descriptor: Int32) {
        self.tls = tls
        self.descriptor = descriptor
    }

    deinit { SSL_free(tls) }

    /// The peer's certificate, DER; nil where it showed none.
    package var peerCertificate: [UInt8]? {
        guard let certificate = SSL_get1_peer_certificate(tls) else { return nil }
        defer { X509_free(certificate) }
        var bytes = [UInt8](repeating: 0, count: Int(i2d_X509(certificate, nil)))
        bytes.withUnsafeMutableBufferPointer { buffer in
            var start = buffer.baseAddress
            _ = i2d_X509(certificate, &start)
        }
        return bytes
    }

    package var isResumed: Bool { SSL_session_reused(tls) == 1 }
    /// The peer has sent close_notify.
    package var peerEnded: Bool { SSL_get_shutdown(tls) & SSL_RECEIVED_SHUTDOWN != 0 }

    /// What came, at most `limit` bytes; empty at the end or on failure.
    package func read(upTo limit: Int = 16384) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = max(0, Int(SSL_read(tls, buffer.baseAddress, Int32(limit))))
        }
    }

    @discardableResult
    package func write(_ bytes: [UInt8]) -> Bool {
        bytes.isEmpty || bytes.withUnsafeBytes { SSL_write(tls, $0.baseAddress, Int32($0.count)) > 0 }
    }

    @discardableResult
    package func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    package func readHead() -> String? {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
            let byte = read(upTo: 1)
            if byte.isEmpty { return nil }
            head += byte
        }
        return String(decoding: head, as: UTF8.self)
    }

    package func answerAll(_ answer: String) {
        while readHead() != nil { write(answer) }
    }

    /// Sends close_notify.
    package func end() { SSL_shutdown(tls) }

    fileprivate var hasPending: Bool { SSL_pending(tls) > 0 }
}

/// A relay for tests: CONNECT over TLS with client certificates, to ports of the loopback.
package enum TestRelay {
    /// Serves one connection as a well-behaved relay.
    package static func serve(_ connection: TestConnection, _ tls: TestTLS) {
        guard let client = tls.accept(connection), let head = client.readHead() else { return }
        guard
            let port = head.split(separator: " ").dropFirst().first?.split(separator: ":").last.flatMap({ UInt16($0) }),
            let server = LoopbackPort.connect(port)
        else {
            client.write("HTTP/1.1 502 Bad Gateway\r\nProxy-Status: test; error=connection_refused\r\n\r\n")
            return
        }
        client.write("HTTP/1.1 200 OK\r\n\r\n")
        pump(client, server)
        close(server)
    }

    /// Moves bytes until both sides have ended, or nothing moves for 20 s.
    private static func pump(_ client: TestTLSConnection, _ server: Int32) {
        var clientEnded = false
        var serverEnded = false
        while !(clientEnded && serverEnded) {
            var ends = [
                pollfd(fd: clientEnded ? -1 : client.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: serverEnded ? -1 : server, events: Int16(POLLIN), revents: 0),
            ]
            let isPending = !clientEnded && client.hasPending
            guard poll(&ends, 2, isPending ? 0 : 20_000) > 0 || isPending else { return }
            if ends[0].revents != 0 || isPending {
                let bytes = client.read()
                clientEnded = bytes.isEmpty
                if clientEnded && !client.peerEnded { return }
                if clientEnded { shutdown(server, Int32(SHUT_WR)) } else { TestConnection(server).write(bytes) }
            }
            if ends[1].revents != 0 {
                let bytes = TestConnection(server).read()
                serverEnded = bytes.isEmpty
                if serverEnded { client.end() } else if !client.write(bytes) { return }
            }
        }
    }
}
