internal import COpenSSL
internal import SallyportCore

/// What became of one TLS handshake: filled by OpenSSL's callbacks, read where an error must be told.
///
/// OpenSSL keeps it as long as the connection lives, which may be longer than the exchange that made it.
@safe
final class HandshakeRecord {
    enum Peer { case relay, server }

    let peer: Peer
    /// A certificate that does not say it is a server's does not verify.
    fileprivate let demandsServerUsage: Bool
    /// The keys of which the chain must have one; nil where any will do.
    fileprivate let pins: Set<PublicKeyPin>?
    private(set) var isDone = false
    /// The two agreed on HTTP/2 (RFC 7301, RFC 9113 §3.2).
    private(set) var choseHTTP2 = false
    /// The chain did not verify.
    fileprivate(set) var isUntrusted = false
    /// The chain verified and has none of the pinned keys.
    fileprivate(set) var lacksPinnedKey = false
    /// The description of the last alert that the peer sent (RFC 8446 §6).
    private(set) var alert: UInt8?
    /// The connection; valid while libcurl keeps it open.
    private(set) var connection: OpaquePointer?

    init(peer: Peer, demandsServerUsage: Bool, pins: Set<PublicKeyPin>?) {
        self.peer = peer
        self.demandsServerUsage = demandsServerUsage
        self.pins = pins
    }

    /// The peer did not take our certificate, or wanted one: the `certificate_…` alerts, `bad_`, `unsupported_`,
    /// `unknown_ca` and `access_denied`.
    var refusedCertificate: Bool {
        switch alert {
        case 42, 43, 44, 45, 46, 48, 49, 116: true;
        default: false
        }
    }

    /// The peer has ended its side with `close_notify`. An end of TCP without it may be an attacker's doing; libcurl's
    /// BIO hides the difference.
    var isEnded: Bool { alert == 0 }

    /// The alert `protocol_version`.
    var refusedVersion: Bool { alert == 70 }

    fileprivate func saw(_ connection: OpaquePointer?, _ place: Int32, _ value: Int32) {
        unsafe self.connection = unsafe connection
        if place & SSL_CB_HANDSHAKE_DONE != 0 {
            isDone = true
            choseHTTP2 = unsafe Self.protocolName(connection).elementsEqual("h2".utf8)
        }
        if place & SSL_CB_READ_ALERT == SSL_CB_READ_ALERT { alert = UInt8(truncatingIfNeeded: value) }
    }

    private static func protocolName(_ connection: OpaquePointer?) -> UnsafeBufferPointer<UInt8> {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(connection, &name, &count)
        return unsafe UnsafeBufferPointer(start: name, count: Int(count))
    }
}

/// What the `SSL_CTX` of a new connection is told besides what libcurl told it.
struct HandshakeSettings {
    var peer: HandshakeRecord.Peer
    var versions: TLSVersions
    var additionalAuthorities: [[UInt8]]
    /// False for the one exchange that trusts anybody, see ``TrustAnchors/unverified``.
    var isVerified: Bool
    var demandsServerUsage: Bool
    var pins: Set<PublicKeyPin>?

    /// - Returns: the record of the handshake that will be made with `context`.
    func apply(to context: OpaquePointer) -> HandshakeRecord {
        let record = HandshakeRecord(peer: peer, demandsServerUsage: demandsServerUsage, pins: pins)
        // Somebody else in the process may have initialised libcurl with SSLKEYLOGFILE set.
        unsafe SSL_CTX_set_keylog_callback(context, nil)
        unsafe SSL_CTX_set_info_callback(context, connectionChanged)
        if isVerified { unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, chainVerified) }
        _ = unsafe SSL_CTX_set_options(context, forbidden)
        let opaque = unsafe Unmanaged.passRetained(record).toOpaque()
        unsafe SSL_CTX_set_ex_data(context, CurlLibrary.recordIndex, opaque)
        for authority in additionalAuthorities { unsafe trust(authority, context) }
        return record
    }

    /// libcurl takes a range of versions; blocks may leave a hole in it.
    private var forbidden: UInt64 {
        let bits: [(TLSVersion, UInt64)] = [
            (.tls10, UInt64(1) << 26), (.tls11, UInt64(1) << 28), (.tls12, UInt64(1) << 27), (.tls13, UInt64(1) << 29),
        ]
        return bits.reduce(0) { versions.allowed.contains($1.0) ? $0 : $0 | $1.1 }
    }

    private func trust(_ authority: [UInt8], _ context: OpaquePointer) {
        unsafe authority.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            guard let certificate = unsafe d2i_X509(nil, &start, buffer.count) else { return }
            unsafe X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate)
            unsafe X509_free(certificate)
        }
    }
}

private func connectionChanged(_ connection: OpaquePointer?, _ place: Int32, _ value: Int32) {
    unsafe record(of: connection)?.saw(connection, place, value)
}

/// Takes note of OpenSSL's verdict, since libcurl does not always tell it, and adds to it what OpenSSL does not ask for.
private func chainVerified(_ isGood: Int32, _ store: OpaquePointer?) -> Int32 {
    let connection = unsafe X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx())
    let record = unsafe record(of: connection.map { OpaquePointer($0) })
    if isGood == 1 {
        let isWrongUse = unsafe record?.demandsServerUsage == true && isLeafWithoutServerUsage(store)
        let lacksPin = record?.pins.map { unsafe lacksPinnedKey(store, $0) } ?? false
        guard isWrongUse || lacksPin else { return isGood }
        record?.lacksPinnedKey = lacksPin
        let error = lacksPin ? X509_V_ERR_APPLICATION_VERIFICATION : X509_V_ERR_INVALID_PURPOSE
        unsafe X509_STORE_CTX_set_error(store, error)
    }
    record?.isUntrusted = true
    return 0
}

/// Whether the chain is whole, which the call for the peer's own certificate tells, and none of its keys is pinned.
private func lacksPinnedKey(_ store: OpaquePointer?, _ pins: Set<PublicKeyPin>) -> Bool {
    guard unsafe X509_STORE_CTX_get_error_depth(store) == 0 else { return false }
    let chain = unsafe X509_STORE_CTX_get0_chain(store)
    return unsafe !(0..<sallyport_chain_count(chain)).contains { index in
        var digest = [UInt8](repeating: 0, count: 32)
        guard unsafe sallyport_key_digest(chain, index, &digest) == 1 else { return false }
        return PublicKeyPin(sha256: digest).map(pins.contains) ?? false
    }
}

/// Whether the certificate that is looked at is the peer's own and does not name serverAuth (RFC 5280 §4.2.1.12). To
/// OpenSSL one without the extension is good for everything, and so it is not enough here; anyExtendedKeyUsage neither.
private func isLeafWithoutServerUsage(_ store: OpaquePointer?) -> Bool {
    guard unsafe X509_STORE_CTX_get_error_depth(store) == 0 else { return false }
    guard let certificate = unsafe X509_STORE_CTX_get_current_cert(store) else { return true }
    let usages = unsafe X509_get_extended_key_usage(certificate)
    return usages == UInt32.max || usages & UInt32(XKU_SSL_SERVER) == 0
}

private func record(of connection: OpaquePointer?) -> HandshakeRecord? {
    guard let connection = unsafe connection, let context = unsafe SSL_get_SSL_CTX(connection),
        let record = unsafe SSL_CTX_get_ex_data(context, CurlLibrary.recordIndex)
    else { return nil }
    return unsafe Unmanaged<HandshakeRecord>.fromOpaque(record).takeUnretainedValue()
}
