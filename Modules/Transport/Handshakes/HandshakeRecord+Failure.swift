internal import COpenSSL
internal import SallyportCore
internal import SallyportLoading

extension HandshakeRecord {
    /// The error if the handshake was ended, or is held, because the client certificate was not chosen yet.
    func certificateRequest(at endpoint: Endpoint) -> LoadError? {
        guard let authorities = wantedAuthorities else { return nil }
        return LoadError(
            .clientCertificateRefused, at: .serverTLS, "The server asks for a certificate.",
            underlying: CertificateRequest(endpoint: endpoint, authorities: authorities))
    }

    /// The error if the server's chain was refused or awaits the app's decision; nil if no chain was kept.
    func untrusted(at endpoint: Endpoint, over connection: ConnectionFacts) -> LoadError? {
        guard let chain else { return nil }
        let message = chain.failure.map { "The server's certificate does not verify: \($0.message)." }
        return LoadError(
            .serverNotTrusted, at: .serverTLS, message ?? "The server's certificate is in question.",
            underlying: chain.evaluation(at: endpoint, connection))
    }

    /// Why a TLS handshake with the server that was made without libcurl failed.
    ///
    /// - Parameters:
    ///   - isLost: whether the connection ended without an alert.
    ///   - reason: OpenSSL's text for the failure.
    func failure(
        at endpoint: Endpoint, over connection: ConnectionFacts, isLost: Bool, because reason: String
    ) -> LoadError {
        if let request = certificateRequest(at: endpoint) { return request }
        if lacksPinnedKey {
            return LoadError(.serverNotTrusted, at: .serverTLS, "None of the server's keys is pinned for its host.")
        }
        if isUntrusted {
            return untrusted(at: endpoint, over: connection)
                ?? LoadError(.serverNotTrusted, at: .serverTLS, "The server's certificate does not verify.")
        }
        if let error = versionRefusal(at: .serverTLS) { return error }
        if refusedCertificate {
            return LoadError(
                .clientCertificateRefused, at: .serverTLS,
                "The peer refused the certificate, or the lack of one (TLS alert).")
        }
        if isLost, alert == nil {
            return LoadError(.connectionLost, at: .serverTLS, "The connection ended in the handshake.")
        }
        return LoadError(
            .tlsFailed, at: .serverTLS, "The handshake failed: \(reason).",
            underlying: alert.map { TLSAlert(description: $0) })
    }
}

extension HandshakeRecord {
    /// A peer's refusal of our certificate, or of its absence. TLS 1.3 reports it only after the handshake.
    static func certificateRefusal(in handshakes: [HandshakeRecord]) -> LoadError? {
        guard let record = handshakes.last(where: \.refusedCertificate) else { return nil }
        let step: LoadError.Step =
            switch record.peer {
            case .relay: .relayTLS
            case .proxy: .proxyTLS
            case .server: .serverTLS
            }
        return LoadError(
            .clientCertificateRefused, at: step, "The peer refused the certificate, or the lack of one (TLS alert).")
    }
}
