internal import CIdentitySigner
internal import COpenSSL
internal import SallyportBase
internal import SallyportCore

extension HandshakeSettings {
    /// A TLS client without libcurl, for connections that are already open. The caller frees it.
    ///
    /// It has the settings that libcurl gives its own TLS clients.
    func makeConnection(to host: Host) -> (OpaquePointer, HandshakeRecord)? {
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else { return nil }
        // The connection has a reference of its own to the context.
        defer { unsafe SSL_CTX_free(context) }
        unsafe limitVersions(context)
        _ = unsafe SSL_CTX_set_options(context, Self.noTicket)
        let record = unsafe apply(to: context)
        guard let connection = unsafe SSL_new(context) else { return nil }
        unsafe SSL_set_connect_state(connection)
        if case .name = host { _ = unsafe sallyport_name_server(connection, host.bareText) }
        return unsafe (connection, record)
    }

    /// `SSL_OP_NO_TICKET`: such connections do not resume TLS sessions.
    private static let noTicket = UInt64(1) << 14

    private func limitVersions(_ context: OpaquePointer) {
        guard let minimum = versions.minimum, let maximum = versions.maximum else { return }
        _ = unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Self.number(minimum), nil)
        _ = unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Self.number(maximum), nil)
        if minimum < .tls12 { _ = unsafe SSL_CTX_set_cipher_list(context, "DEFAULT:@SECLEVEL=0") }
    }

    private static func number(_ version: TLSVersion) -> Int {
        switch version {
        case .tls10: 0x0301
        case .tls11: 0x0302
        case .tls12: 0x0303
        case .tls13: 0x0304
        }
    }
}

extension ClientIdentity {
    /// Has a connection show the certificate if the server asks for one. A certificate that cannot be used is left out,
    /// and the server decides whether to accept that.
    func show(on connection: OpaquePointer) {
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else { return }
        defer { unsafe SSL_CTX_free(context) }
        if let signer {
            unsafe HandshakeSettings.show(certificates, signer, context)
        } else {
            unsafe useFiles(context)
        }
        _ = unsafe sallyport_copy_identity(connection, context)
        ERR_clear_error()
    }

    private func useFiles(_ context: OpaquePointer) {
        for (index, der) in certificates.enumerated() {
            guard let certificate = unsafe ShownChain.read(der) else { continue }
            if index == 0 {
                _ = unsafe SSL_CTX_use_certificate(context, certificate)
            } else {
                _ = unsafe sallyport_add_chain(context, certificate)
            }
            unsafe X509_free(certificate)
        }
        let text = Array(privateKey.reveal().utf8)
        let key = unsafe text.withUnsafeBytes { bytes in
            unsafe sallyport_read_key(bytes.baseAddress, Int32(clamping: bytes.count), nil)
        }
        _ = unsafe SSL_CTX_use_PrivateKey(context, key)
        unsafe EVP_PKEY_free(key)
    }
}
