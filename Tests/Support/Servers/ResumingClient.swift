internal import COpenSSL
internal import Glibc
package import SallyportCore

/// A TLS client that resumes the session of its connection before, with blocking calls. For one thread.
package final class ResumingClient {
    private let context: OpaquePointer
    private var session: OpaquePointer?

    /// - Parameters:
    ///   - authority: the only one that servers are trusted by, PEM.
    ///   - version: the only one that is spoken.
    package init(authority: String, certificate: String, key: String, version: TLSVersion) throws {
        guard let context = SSL_CTX_new(TLS_client_method()) else { throw Unexpected("no context") }
        self.context = context
        let number = version == .tls12 ? 0x0303 : 0x0304
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, number, nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, number, nil)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        let isComplete =
            use(authority) { X509_STORE_add_cert(SSL_CTX_get_cert_store(context), $0) }
            && use(certificate) { SSL_CTX_use_certificate(context, $0) } && useKey(key)
        guard isComplete else { throw Unexpected("no certificate, key or authority") }
    }

    deinit {
        SSL_SESSION_free(session)
        SSL_CTX_free(context)
    }

    /// A connection to a port of the loopback; nil where the handshake fails. The caller hangs up.
    package func connect(to port: UInt16) -> TestTLSConnection? {
        guard let descriptor = LoopbackPort.connect(port), let tls = SSL_new(context) else { return nil }
        // Sets how long its calls block.
        let connection = TestConnection(descriptor)
        SSL_set_fd(tls, connection.descriptor)
        if let session { SSL_set_session(tls, session) }
        guard SSL_connect(tls) == 1 else {
            SSL_free(tls)
            close(descriptor)
            return nil
        }
        return TestTLSConnection(tls, descriptor)
    }

    /// Ends a connection. Its session is the one to resume where `keepingSession`; with TLS 1.3 something must have been
    /// read, for the tickets come before it.
    package func hangUp(_ connection: TestTLSConnection, keepingSession: Bool = true) {
        if keepingSession {
            SSL_SESSION_free(session)
            session = SSL_get1_session(connection.tls)
        }
        // OpenSSL does not resume the session of a connection that was not ended.
        connection.end()
        close(connection.descriptor)
    }

    private func use(_ pem: String, _ body: (OpaquePointer) -> Int32) -> Bool {
        let certificate = Self.read(pem) { PEM_read_bio_X509($0, nil, nil, nil) }
        defer { X509_free(certificate) }
        return certificate.map { body($0) == 1 } ?? false
    }

    private func useKey(_ pem: String) -> Bool {
        let key = Self.read(pem) { PEM_read_bio_PrivateKey($0, nil, nil, nil) }
        defer { EVP_PKEY_free(key) }
        return key.map { SSL_CTX_use_PrivateKey(context, $0) == 1 } ?? false
    }

    private static func read(_ text: String, _ body: (OpaquePointer?) -> OpaquePointer?) -> OpaquePointer? {
        Array(text.utf8).withUnsafeBytes { buffer in
            let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count))
            defer { BIO_free(bio) }
            return body(bio)
        }
    }
}
