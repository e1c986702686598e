internal import COpenSSL
internal import SallyportLoading

extension StreamFacts {
    init(_ attempt: Attempt, _ handle: EasyHandle, proxy: ProxyAccess?) {
        self.init(
            connection: attempt.connectionFacts(handle, proxy: proxy),
            tls: unsafe (attempt.serverHandshake?.connection).map { unsafe TLS($0) })
    }
}

extension StreamFacts.TLS {
    /// - Parameter connection: a connection whose handshake is over.
    init(_ connection: OpaquePointer) {
        let version = unsafe SSL_get_version(connection).map { unsafe String(cString: $0) } ?? ""
        let suite = unsafe SSL_get_current_cipher(connection).flatMap { unsafe SSL_CIPHER_standard_name($0) }
        let chosen = unsafe HandshakeRecord.protocolName(connection)
        let chain = unsafe SSL_get_peer_cert_chain(connection)
        self.init(
            version: version, cipher: unsafe suite.map { unsafe String(cString: $0) } ?? "",
            applicationProtocol: unsafe chosen.isEmpty ? nil : String(decoding: chosen, as: UTF8.self),
            certificates: unsafe (0..<sallyport_chain_count(chain)).map { unsafe ShownChain.certificate(chain, $0) },
            isResumed: unsafe SSL_session_reused(connection) == 1)
    }
}

/// The names that a client offers in ALPN, in the encoding of its ClientHello (RFC 7301 §3.1).
package enum ApplicationProtocols {
    /// The most bytes of all names, with one more for each.
    package static let limit = 1024

    /// Nil if a name is empty or has more than 255 bytes, or there are too many.
    package static func wire(_ names: [String]) -> [UInt8]? {
        var bytes: [UInt8] = []
        for name in names {
            guard (1...255).contains(name.utf8.count) else { return nil }
            bytes.append(UInt8(name.utf8.count))
            bytes += name.utf8
        }
        return bytes.count <= limit ? bytes : nil
    }
}
