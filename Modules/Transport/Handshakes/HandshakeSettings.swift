internal import CIdentitySigner
internal import COpenSSL
internal import SallyportCore

/// Settings for the `SSL_CTX` of a new connection, in addition to libcurl's.
struct HandshakeSettings {
    var peer: HandshakeRecord.Peer
    var versions: TLSVersions
    var isFallback = false
    /// Replaces libcurl's authorities; nil to keep those.
    var authorities: AuthorityStore?
    /// In addition to libcurl's authorities.
    var additionalAuthorities: [[UInt8]] = []
    /// False for the one exchange that trusts any server, see ``TrustAnchors/unverified``.
    var isVerified = true
    var demandsServerUsage = false
    /// The host that the certificate must name; nil if only libcurl checks it.
    var host: Host?
    /// Whether the certificate must name a host at all.
    var checksHost = true
    /// The protocols offered in ALPN, in the encoding of the ClientHello; empty for none.
    var applicationProtocols: [UInt8] = []
    var pins: Set<PublicKeyPin>?
    var decision = TrustDecision.verification
    var asksForIdentity = false
    /// Whether an open question holds the handshake until ``HandshakeRecord/goOn(with:)``; if false, it ends the
    /// handshake.
    var holdsQuestions = false
    /// The client identity if its key is elsewhere; libcurl presents all others.
    var signed: ClientIdentity?
    var revocation = RevocationRules()

    /// - Returns: the record of the handshake that will be made with `context`.
    func apply(to context: OpaquePointer) -> HandshakeRecord {
        let record = HandshakeRecord(self)
        // Other code in the process may have initialised libcurl with SSLKEYLOGFILE set.
        unsafe SSL_CTX_set_keylog_callback(context, nil)
        unsafe SSL_CTX_set_info_callback(context, connectionChanged)
        unsafe SSL_CTX_set_msg_callback(context, messageCame)
        if isVerified { unsafe applyVerification(context) }
        if asksForIdentity { unsafe SSL_CTX_set_cert_cb(context, certificateRequested, nil) }
        if let signed, let signer = signed.signer { unsafe Self.show(signed.certificates, signer, context) }
        _ = unsafe SSL_CTX_set_options(context, forbidden)
        if isFallback { unsafe sallyport_send_fallback(context) }
        if !applicationProtocols.isEmpty {
            _ = unsafe SSL_CTX_set_alpn_protos(context, applicationProtocols, UInt32(applicationProtocols.count))
        }
        let opaque = unsafe Unmanaged.passRetained(record).toOpaque()
        unsafe SSL_CTX_set_ex_data(context, CurlLibrary.recordIndex, opaque)
        return record
    }

    private func applyVerification(_ context: OpaquePointer) {
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, stepVerified)
        unsafe SSL_CTX_set_cert_verify_callback(context, chainShown, nil)
        if let host { unsafe demand(host, context) }
        unsafe authorities?.use(in: context)
        for authority in additionalAuthorities {
            unsafe AuthorityStore.add(authority, to: SSL_CTX_get_cert_store(context))
        }
        unsafe applyRevocation(context)
    }

    /// libcurl takes a range of versions; blocked versions may be inside it.
    private var forbidden: UInt64 {
        let bits: [(TLSVersion, UInt64)] = [
            (.tls10, UInt64(1) << 26), (.tls11, UInt64(1) << 28), (.tls12, UInt64(1) << 27), (.tls13, UInt64(1) << 29),
        ]
        return bits.reduce(0) { versions.contains($1.0) ? $0 : $0 | $1.1 }
    }

    /// The name is compared with the subject alternative names only, and a wildcard stands for one whole label (RFC
    /// 9525 §6.3).
    private func demand(_ host: Host, _ context: OpaquePointer) {
        let parameters = unsafe SSL_CTX_get0_param(context)
        let flags = UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)
        unsafe X509_VERIFY_PARAM_set_hostflags(parameters, flags)
        switch host {
        case .name: _ = unsafe X509_VERIFY_PARAM_set1_host(parameters, host.bareText, host.bareText.utf8.count)
        case .address(let address):
            _ = unsafe X509_VERIFY_PARAM_set1_ip(parameters, address.bytes, address.bytes.count)
        }
    }

    /// An unusable certificate is left out: the server decides whether to accept that.
    static func show(_ certificates: [[UInt8]], _ signer: any IdentitySigner, _ context: OpaquePointer) {
        for (index, der) in certificates.enumerated() {
            guard let certificate = unsafe ShownChain.read(der) else { continue }
            if index == 0 {
                let box = unsafe Unmanaged.passRetained(SignerBox(signer)).toOpaque()
                _ = unsafe sallyport_use_signer(context, certificate, sign, box, releaseSigner)
            } else {
                _ = unsafe sallyport_add_chain(context, certificate)
            }
            unsafe X509_free(certificate)
        }
    }

    private func applyRevocation(_ context: OpaquePointer) {
        if revocation.stapling != .ignored { unsafe sallyport_ask_for_staple(context, stapleCame) }
        guard !revocation.lists.isEmpty else { return }
        let flags = X509_V_FLAG_CRL_CHECK | (revocation.coversAuthorities ? X509_V_FLAG_CRL_CHECK_ALL : 0)
        _ = unsafe X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), UInt(flags))
    }
}

// MARK: OpenSSL's callbacks

private func connectionChanged(_ connection: OpaquePointer?, _ place: Int32, _ value: Int32) {
    unsafe record(of: connection)?.saw(connection, place, value)
}

private func messageCame(
    _ isWritten: Int32, _: Int32, _ kind: Int32, _ content: UnsafeRawPointer?, _ count: Int,
    _ connection: OpaquePointer?,
    _: UnsafeMutableRawPointer?
) {
    guard isWritten == 0, kind == SSL3_RT_HANDSHAKE else { return }
    unsafe record(of: connection)?.received(UnsafeRawBufferPointer(start: content, count: count))
}

private func stepVerified(_ isGood: Int32, _ store: OpaquePointer?) -> Int32 {
    guard let record = unsafe record(verifiedBy: store) else { return 0 }
    return unsafe record.verified(isGood == 1, store) ? 1 : 0
}

private func chainShown(_ store: OpaquePointer?, _: UnsafeMutableRawPointer?) -> Int32 {
    guard let record = unsafe record(verifiedBy: store) else { return 0 }
    let isVerified = unsafe X509_verify_cert(store) == 1
    if unsafe record.takes(store, isVerified: isVerified) { return 1 }
    // OpenSSL treats a failure as final. So a held chain counts as accepted until OpenSSL asks again.
    return unsafe record.isHeld(connection(verifiedBy: store)) ? 1 : 0
}

/// - Returns: 1 to go on, 0 to end the handshake.
private func stapleCame(_ connection: OpaquePointer?, _: UnsafeMutableRawPointer?) -> Int32 {
    guard let record = unsafe record(of: connection) else { return 0 }
    return unsafe record.takesStaple(connection) ? 1 : 0
}

/// - Returns: 1 to go on, 0 to end the handshake, -1 to hold it.
private func certificateRequested(_ connection: OpaquePointer?, _: UnsafeMutableRawPointer?) -> Int32 {
    guard let record = unsafe record(of: connection) else { return 0 }
    return unsafe record.answersCertificateRequest(connection)
}

private func record(verifiedBy store: OpaquePointer?) -> HandshakeRecord? {
    unsafe record(of: connection(verifiedBy: store))
}

private func connection(verifiedBy store: OpaquePointer?) -> OpaquePointer? {
    let connection = unsafe X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx())
    return unsafe connection.map { OpaquePointer($0) }
}

private func record(of connection: OpaquePointer?) -> HandshakeRecord? {
    guard let connection = unsafe connection, let context = unsafe SSL_get_SSL_CTX(connection),
        let record = unsafe SSL_CTX_get_ex_data(context, CurlLibrary.recordIndex)
    else { return nil }
    return unsafe Unmanaged<HandshakeRecord>.fromOpaque(record).takeUnretainedValue()
}
