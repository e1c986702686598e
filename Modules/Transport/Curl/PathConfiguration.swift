internal import CCurl
internal import SallyportBase
internal import SallyportCore

/// A path in libcurl's terms, created once for a pool.
struct PathConfiguration {
    let path: ConnectionPath
    private let relayAuthorities: [UInt8]
    private let relayChain: [UInt8]
    private let authorities: PoolAuthorities
    private let chain: [UInt8]
    /// libcurl reads them as long as the pool's handles live.
    let proxyLines: HeaderLines?

    init(_ path: ConnectionPath) {
        self.path = path
        relayAuthorities = path.relay.map { PEM.certificates($0.authorities) } ?? []
        relayChain = path.relay.map { PEM.certificates($0.identity.certificates) } ?? []
        let isGateway = if case .gateway = path.trust { true } else { false }
        authorities = PoolAuthorities(path.trust, isGateway ? [] : path.revocation.lists)
        chain = path.identity.map { PEM.certificates($0.certificates) } ?? []
        proxyLines = path.proxy.flatMap(\.headerLines)
    }

    /// The requirements for a relay: it may have any name that libcurl accepts, and its certificate must be a server's.
    var relayHandshake: HandshakeSettings {
        HandshakeSettings(
            peer: .relay, versions: .standard, demandsServerUsage: true, revocation: Self.noRevocation)
    }

    func serverHandshake(with host: Host) -> HandshakeSettings {
        var settings = HandshakeSettings(peer: .server, versions: path.versions, isFallback: path.isFallback)
        settings.isVerified = path.trust != .unverified
        settings.checksHost = path.checksHost
        settings.host = path.checksHost ? host : nil
        settings.pins = path.pins[host]
        settings.decision = path.decision
        settings.asksForIdentity = path.asksForIdentity
        settings.signed = path.identity?.signer == nil ? nil : path.identity
        settings.revocation = path.revocation
        settings.authorities = authorities.current
        if case .gateway = path.trust {
            settings.demandsServerUsage = true
            settings.revocation = Self.noRevocation
        }
        return settings
    }

    /// The settings of a TLS handshake on a connection that is already open. A question to the app holds this
    /// handshake, since no new connection can be made for the answer.
    func laterHandshake(with host: Host, _ applicationProtocols: [UInt8]) -> HandshakeSettings {
        var settings = serverHandshake(with: host)
        settings.holdsQuestions = true
        settings.applicationProtocols = applicationProtocols
        // The certificate is set on the connection itself: a setting of the context would be read only once.
        settings.signed = nil
        return settings
    }

    /// A gateway's authority revokes certificates by other means.
    static let noRevocation: RevocationRules = {
        var rules = RevocationRules()
        rules.stapling = .ignored
        return rules
    }()

    func apply(to handle: EasyHandle) {
        applyServer(to: handle)
        if let socket = path.socket { handle.set(CURLOPT_UNIX_SOCKET_PATH, socket) }
        guard let relay = path.relay else { return applyProxy(to: handle) }
        handle.set(CURLOPT_PROXYTYPE, Int(CURLPROXY_HTTPS.rawValue))
        handle.set(CURLOPT_HTTPPROXYTUNNEL, 1)
        handle.set(CURLOPT_PROXY_SSL_VERIFYPEER, 1)
        handle.set(CURLOPT_PROXY_SSL_VERIFYHOST, 2)
        handle.set(CURLOPT_PROXY_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        handle.setNothing(CURLOPT_PROXY_CAPATH)
        handle.set(CURLOPT_PROXY_CAINFO_BLOB, blob: relayAuthorities)
        handle.set(CURLOPT_PROXY_SSLCERT_BLOB, blob: relayChain)
        handle.set(CURLOPT_PROXY_SSLKEY_BLOB, blob: Array(relay.identity.privateKey.reveal().utf8))
    }

    private func applyServer(to handle: EasyHandle) {
        handle.set(CURLOPT_SSL_VERIFYPEER, path.trust == .unverified ? 0 : 1)
        // If the app decides, the host name is only a part of OpenSSL's verdict.
        let checksHost = path.trust != .unverified && path.decision == .verification && path.checksHost
        handle.set(CURLOPT_SSL_VERIFYHOST, checksHost ? 2 : 0)
        handle.set(CURLOPT_SSLVERSION, versionRange)
        handle.setNothing(CURLOPT_CAPATH)
        // It reads none if ours replace them before the handshake.
        if authorities.current != nil { handle.setNothing(CURLOPT_CAINFO) }
        if let minimum = path.versions.minimum, minimum < .tls12 {
            handle.set(CURLOPT_SSL_CIPHER_LIST, "DEFAULT:@SECLEVEL=0")
        }
        guard let identity = path.identity, identity.signer == nil else { return }
        handle.set(CURLOPT_SSLCERT_BLOB, blob: chain)
        handle.set(CURLOPT_SSLKEY_BLOB, blob: Array(identity.privateKey.reveal().utf8))
    }

    private var versionRange: Int {
        let minimum =
            switch path.versions.minimum {
            case .tls10: CURL_SSLVERSION_TLSv1_0
            case .tls11: CURL_SSLVERSION_TLSv1_1
            case .tls12, nil: CURL_SSLVERSION_TLSv1_2
            case .tls13: CURL_SSLVERSION_TLSv1_3
            }
        let maximum =
            switch path.versions.maximum {
            case .tls10: CURL_SSLVERSION_MAX_TLSv1_0
            case .tls11: CURL_SSLVERSION_MAX_TLSv1_1
            case .tls12: CURL_SSLVERSION_MAX_TLSv1_2
            case .tls13, nil: CURL_SSLVERSION_MAX_TLSv1_3
            }
        return Int(minimum) | Int(maximum)
    }
}

/// Textual encoding of certificates (RFC 7468).
enum PEM {
    static func certificates(_ certificates: [[UInt8]]) -> [UInt8] {
        Array(certificates.map(certificate).joined().utf8)
    }

    private static func certificate(_ bytes: [UInt8]) -> String { text("CERTIFICATE", bytes) }

    static func text(_ label: String, _ bytes: [UInt8]) -> String {
        "-----BEGIN \(label)-----\n" + lines(bytes) + "-----END \(label)-----\n"
    }

    /// 48 bytes make a line of 64 characters.
    private static func lines(_ bytes: [UInt8]) -> String {
        stride(from: 0, to: bytes.count, by: 48).reduce(into: "") { text, start in
            text += base64(bytes[start..<min(start + 48, bytes.count)]) + "\n"
        }
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func base64(_ bytes: ArraySlice<UInt8>) -> String {
        var text: [UInt8] = []
        for start in stride(from: bytes.startIndex, to: bytes.endIndex, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.endIndex)]
            let bits = (0..<3).reduce(0) { $0 << 8 | ($1 < group.count ? Int(group[start + $1]) : 0) }
            for position in 0..<4 {
                let isPadding = position > group.count
                text.append(isPadding ? UInt8(ascii: "=") : alphabet[bits >> (18 - 6 * position) & 63])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
