internal import COpenSSL
internal import SallyportCore
internal import SallyportLoading

/// A chain that a server presented, and OpenSSL's verdict on it.
struct ShownChain {
    let certificates: [[UInt8]]
    let fingerprint: ChainFingerprint
    let failure: ServerTrustEvaluation.Failure?

    func evaluation(at endpoint: Endpoint, _ connection: ConnectionFacts) -> ServerTrustEvaluation {
        ServerTrustEvaluation(
            endpoint: endpoint, chain: certificates, fingerprint: fingerprint, failure: failure, connection: connection)
    }
}

extension ShownChain {
    /// Nil if memory is exhausted.
    ///
    /// - Parameter chain: OpenSSL's stack of certificates as received.
    init?(_ chain: OpaquePointer?, _ failure: ServerTrustEvaluation.Failure?) {
        guard let fingerprint = unsafe Self.fingerprint(of: chain) else { return nil }
        certificates = unsafe (0..<sallyport_chain_count(chain)).map { unsafe Self.certificate(chain, $0) }
        self.fingerprint = fingerprint
        self.failure = failure
    }

    static func fingerprint(of chain: OpaquePointer?) -> ChainFingerprint? {
        var digest = [UInt8](repeating: 0, count: 32)
        guard unsafe sallyport_chain_digest(chain, &digest) == 1 else { return nil }
        return ChainFingerprint(sha256: digest)
    }

    /// The caller frees it. Nil if it is not a certificate.
    static func read(_ der: [UInt8]) -> OpaquePointer? {
        unsafe der.withUnsafeBufferPointer { buffer in
            var start = buffer.baseAddress
            return unsafe d2i_X509(nil, &start, buffer.count)
        }
    }

    static func certificate(_ chain: OpaquePointer?, _ index: Int32) -> [UInt8] {
        let count = unsafe sallyport_certificate(chain, index, nil)
        guard count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, length in
            let written = unsafe sallyport_certificate(chain, index, buffer.baseAddress)
            length = max(0, Int(written))
        }
    }
}

extension ServerTrustEvaluation.Failure {
    /// - Parameter code: one of OpenSSL's `X509_V_ERR_…`.
    init(verification code: Int32) {
        let message = unsafe X509_verify_cert_error_string(Int(code)).map { unsafe String(cString: $0) } ?? ""
        self.init(Self.reason(code), message)
    }

    private static func reason(_ code: Int32) -> Reason {
        switch code {
        case X509_V_ERR_CERT_HAS_EXPIRED: .expired
        case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .wrongHost
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            .unknownAuthority
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN: .selfSigned
        case X509_V_ERR_CERT_REVOKED: .revoked
        case X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_CRL_HAS_EXPIRED, X509_V_ERR_CRL_NOT_YET_VALID,
            X509_V_ERR_CRL_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER:
            .noRevocationStatus
        case X509_V_ERR_INVALID_PURPOSE, X509_V_ERR_INVALID_CA: .wrongPurpose
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK: .weak
        default: .invalid
        }
    }
}
