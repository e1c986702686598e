internal import COpenSSL
internal import SallyportCore
internal import SallyportEventLoop
internal import SallyportLoading

/// The result of one TLS handshake: filled by OpenSSL's callbacks, read to report an error.
///
/// OpenSSL keeps it as long as the connection lives, which may be longer than the exchange that made it.
@safe
final class HandshakeRecord {
    enum Peer { case relay, proxy, server }

    private(set) var settings: HandshakeSettings
    private(set) var isDone = false
    let start = LoopInstant.now
    /// When the handshake was completed.
    private(set) var agreed: LoopInstant?
    /// HTTP/2 was negotiated (RFC 7301, RFC 9113 §3.2).
    private(set) var choseHTTP2 = false
    /// The chain was refused.
    private(set) var isUntrusted = false
    /// The chain failed verification, and is trusted nevertheless.
    private var isOverruled = false
    /// Whether the server has shown a chain in this handshake. It shows none if a TLS session is resumed.
    private var hasShownChain = false
    /// The chain was verified but has none of the pinned keys.
    private(set) var lacksPinnedKey = false
    /// Whether the chain awaits a decision.
    private(set) var isInQuestion = false
    /// The refused chain.
    private(set) var chain: ShownChain?
    /// The names of the authorities whose certificates the server accepts, if it asked for a certificate and the app
    /// must choose one.
    private(set) var wantedAuthorities: [[UInt8]]?
    /// The description of the last alert that the peer sent (RFC 8446 §6).
    private(set) var alert: UInt8?
    /// The version in the peer's ServerHello, as it is sent; TLS 1.3 puts its own in an extension and has 1.2 here.
    private(set) var chosenVersion: UInt16?
    /// Whether this side has ended the handshake because of the peer's version.
    private(set) var hasRefusedVersion = false
    /// The connection, until libcurl frees it: OpenSSL reports that through ``forget(_:)``.
    private(set) var connection: OpaquePointer?

    init(_ settings: HandshakeSettings) { self.settings = settings }

    var peer: Peer { settings.peer }

    /// The peer refused our certificate, or required one: the `certificate_…` alerts, `bad_`, `unsupported_`,
    /// `unknown_ca` and `access_denied`.
    var refusedCertificate: Bool {
        switch alert {
        case 42, 43, 44, 45, 46, 48, 49, 116: true;
        default: false
        }
    }

    /// The peer has ended its side with `close_notify`. An end of TCP without it may be caused by an attacker.
    var isEnded: Bool { alert == 0 }

    /// The peer refused all versions that were offered.
    var refusedVersion: Bool { alert == Self.protocolVersion }

    /// The number of the alert `protocol_version`.
    private static let protocolVersion: UInt8 = 70

    func saw(_ connection: OpaquePointer?, _ place: Int32, _ value: Int32) {
        if unsafe self.connection != connection { unsafe keep(connection) }
        if place & SSL_CB_HANDSHAKE_DONE != 0 {
            isDone = true
            if agreed == nil { agreed = .now }
            choseHTTP2 = unsafe Self.protocolName(connection).elementsEqual("h2".utf8)
            // Messages are of interest in the handshake only, and OpenSSL would report each record of the connection.
            unsafe SSL_set_msg_callback(connection, nil)
        }
        let description = UInt8(truncatingIfNeeded: value)
        if place & SSL_CB_READ_ALERT == SSL_CB_READ_ALERT { alert = description }
        if place & SSL_CB_WRITE_ALERT == SSL_CB_WRITE_ALERT, description == Self.protocolVersion {
            hasRefusedVersion = true
        }
    }

    /// A message of the handshake came: its type, three bytes of length, and its content (RFC 8446 §4).
    func received(_ message: UnsafeRawBufferPointer) {
        guard message.count >= 6, unsafe message[0] == SSL3_MT_SERVER_HELLO else { return }
        chosenVersion = unsafe UInt16(message[4]) << 8 | UInt16(message[5])
    }

    /// Keeps the connection, and puts a note into it that OpenSSL passes back when it frees the connection.
    private func keep(_ connection: OpaquePointer?) {
        guard let connection = unsafe connection, unsafe SSL_get_ex_data(connection, CurlLibrary.noteIndex) == nil
        else {
            return
        }
        let note = unsafe Unmanaged.passRetained(self).toOpaque()
        guard unsafe SSL_set_ex_data(connection, CurlLibrary.noteIndex, note) == 1 else {
            // Out of memory: without the note, the connection must not be kept.
            return unsafe Unmanaged<HandshakeRecord>.fromOpaque(note).release()
        }
        unsafe self.connection = unsafe connection
    }

    /// The record that a connection keeps.
    static func of(_ connection: OpaquePointer) -> HandshakeRecord? {
        unsafe SSL_get_ex_data(connection, CurlLibrary.noteIndex).map {
            unsafe Unmanaged<HandshakeRecord>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// The connection is being freed.
    func forget(_ connection: OpaquePointer?) {
        if unsafe self.connection == connection { unsafe self.connection = nil }
    }

    static func protocolName(_ connection: OpaquePointer?) -> UnsafeBufferPointer<UInt8> {
        var name: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(connection, &name, &count)
        return unsafe UnsafeBufferPointer(start: name, count: Int(count))
    }
}

// MARK: The server's chain

extension HandshakeRecord {
    /// Whether the chain is accepted, after its verification.
    func takes(_ store: OpaquePointer?, isVerified: Bool) -> Bool {
        let shown = unsafe X509_STORE_CTX_get0_untrusted(store)
        hasShownChain = true
        switch settings.decision {
        case .verification:
            if !isVerified { unsafe refuse(shown, X509_STORE_CTX_get_error(store)) }
            return isVerified
        case .ask:
            break
        case .decided(let fingerprint, let isTrusted):
            guard let found = unsafe ShownChain.fingerprint(of: shown), found == fingerprint else { break }
            if unsafe !isVerified && isTrusted && mayBeTrusted(shown) { return unsafe take(store) }
            if !isVerified { unsafe refuse(shown, X509_STORE_CTX_get_error(store)) }
            return isVerified
        }
        unsafe refuse(shown, isVerified ? X509_V_OK : X509_STORE_CTX_get_error(store))
        if isVerified { unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION) }
        isInQuestion = true
        return false
    }

    /// Whether the server has shown that it is the one with its name; known once the handshake is done.
    ///
    /// A resumed TLS session is one of the same pool, so the same decision applied to its chain. It is not known
    /// whether a decision to trust has overruled the verification of that chain.
    var isAuthenticated: Bool {
        guard settings.isVerified, settings.checksHost, !isOverruled else { return false }
        guard case .decided(_, isTrusted: true) = settings.decision else { return true }
        return hasShownChain
    }

    /// Whether the handshake is held at this point. After ``goOn(with:)``, OpenSSL asks once more.
    func isHeld(_ connection: OpaquePointer?) -> Bool {
        guard isInQuestion, settings.holdsQuestions, !lacksPinnedKey, let connection = unsafe connection else {
            return false
        }
        return unsafe sallyport_hold_verification(connection) == 1
    }

    /// Continues with the decisions that were made since.
    func goOn(with settings: HandshakeSettings) {
        self.settings = settings
        (isInQuestion, isUntrusted, isOverruled, chain, wantedAuthorities) = (false, false, false, nil, nil)
    }

    private func take(_ store: OpaquePointer?) -> Bool {
        unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
        isUntrusted = false
        isOverruled = true
        return true
    }

    private func refuse(_ shown: OpaquePointer?, _ code: Int32) {
        isUntrusted = true
        if code != X509_V_OK, unsafe !mayBeTrusted(shown) { lacksPinnedKey = true }
        chain = unsafe ShownChain(shown, code == X509_V_OK ? nil : .init(verification: code))
    }

    /// For an unverified chain, only the server's own certificate is known to be the server's.
    private func mayBeTrusted(_ shown: OpaquePointer?) -> Bool {
        guard let pins = settings.pins, !lacksPinnedKey else { return !lacksPinnedKey }
        return unsafe Self.hasKey(of: pins, shown, count: 1)
    }

    /// One step of verification; the first failure ends it.
    func verified(_ isGood: Bool, _ store: OpaquePointer?) -> Bool {
        guard isGood else { return unsafe forgives(store) }
        if settings.demandsServerUsage, unsafe isLeafWithoutServerUsage(store) {
            unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_INVALID_PURPOSE)
            return false
        }
        if settings.checksHost, unsafe isLeafWithoutHost(store) {
            unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH)
            return false
        }
        guard let pins = settings.pins, unsafe lacksPinnedKey(store, pins) else { return true }
        lacksPinnedKey = true
        unsafe X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
        return false
    }

    /// If there is no list for a certificate, the rules may permit it.
    private func forgives(_ store: OpaquePointer?) -> Bool {
        guard settings.revocation.allowsUnknown else { return false }
        switch unsafe X509_STORE_CTX_get_error(store) {
        case X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_CRL_NOT_YET_VALID:
            unsafe X509_STORE_CTX_set_error(store, X509_V_OK)
            return true
        default: return false
        }
    }

    /// Whether the chain is complete, which is known at the peer's own certificate, and none of its keys is pinned.
    private func lacksPinnedKey(_ store: OpaquePointer?, _ pins: Set<PublicKeyPin>) -> Bool {
        guard unsafe X509_STORE_CTX_get_error_depth(store) == 0 else { return false }
        let chain = unsafe X509_STORE_CTX_get0_chain(store)
        return unsafe !Self.hasKey(of: pins, chain, count: sallyport_chain_count(chain))
    }

    private static func hasKey(of pins: Set<PublicKeyPin>, _ chain: OpaquePointer?, count: Int32) -> Bool {
        (0..<count).contains { index in
            var digest = [UInt8](repeating: 0, count: 32)
            guard unsafe sallyport_key_digest(chain, index, &digest) == 1 else { return false }
            return PublicKeyPin(sha256: digest).map(pins.contains) ?? false
        }
    }

    /// Whether the current certificate is the peer's own and names no host in `subjectAltName`: libcurl would then use
    /// its common name (RFC 9525 §2).
    private func isLeafWithoutHost(_ store: OpaquePointer?) -> Bool {
        guard unsafe X509_STORE_CTX_get_error_depth(store) == 0 else { return false }
        return unsafe sallyport_names_host(X509_STORE_CTX_get_current_cert(store)) == 0
    }

    /// Whether the current certificate is the peer's own and does not name serverAuth (RFC 5280 §4.2.1.12). OpenSSL
    /// accepts a certificate without the extension for every use, which is not sufficient here; nor is
    /// anyExtendedKeyUsage.
    private func isLeafWithoutServerUsage(_ store: OpaquePointer?) -> Bool {
        guard unsafe X509_STORE_CTX_get_error_depth(store) == 0 else { return false }
        guard let certificate = unsafe X509_STORE_CTX_get_current_cert(store) else { return true }
        let usages = unsafe X509_get_extended_key_usage(certificate)
        return usages == UInt32.max || usages & UInt32(XKU_SSL_SERVER) == 0
    }
}

// MARK: Revocation, and the client's certificate

extension HandshakeRecord {
    /// Whether the handshake continues after the check of the server's stapled response.
    func takesStaple(_ connection: OpaquePointer?) -> Bool {
        // The app has overruled the verification, which the answer is a part of.
        if isOverruled { return true }
        let verdict = unsafe sallyport_check_staple(connection, settings.revocation.stapling == .required ? 1 : 0)
        guard verdict != SALLYPORT_STAPLE_GOOD else { return true }
        let failure: ServerTrustEvaluation.Failure =
            switch verdict {
            case SALLYPORT_STAPLE_REVOKED: .init(.revoked, "the stapled OCSP answer says that it is revoked")
            case SALLYPORT_STAPLE_MISSING: .init(.noRevocationStatus, "an OCSP answer must be stapled, and is not")
            default: .init(.noRevocationStatus, "the stapled OCSP answer is not valid")
            }
        isUntrusted = true
        chain = unsafe ShownChain(SSL_get_peer_cert_chain(connection), failure)
        return false
    }

    /// The server asks for a certificate.
    ///
    /// - Returns: the value that OpenSSL expects: 1 goes on with the certificate that the connection has (or none), 0
    ///   ends the handshake, -1 holds it.
    func answersCertificateRequest(_ connection: OpaquePointer?) -> Int32 {
        guard settings.asksForIdentity else { return 1 }
        let names = unsafe SSL_get0_peer_CA_list(connection)
        wantedAuthorities = unsafe (0..<sallyport_name_count(names)).map { unsafe Self.name(names, $0) }
        return settings.holdsQuestions ? -1 : 0
    }

    private static func name(_ names: OpaquePointer?, _ index: Int32) -> [UInt8] {
        let count = unsafe sallyport_name(names, index, nil)
        guard count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, length in
            let written = unsafe sallyport_name(names, index, buffer.baseAddress)
            length = max(0, Int(written))
        }
    }
}
