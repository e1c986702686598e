internal import COpenSSL
internal import Crypto

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// What an authority says of certificates that it has withdrawn.
extension TestAuthority {
    package enum RevocationStatus: Sendable { case good, revoked, unknown }

    /// A list in PEM, in force for an hour.
    ///
    /// - Parameter isCurrent: false for one whose time is over.
    package func revocationList(of revoked: [TestIdentity], isCurrent: Bool = true) throws -> String {
        let (issuer, key) = try (Self.certificate(pem), Self.key(self.key.pemRepresentation))
        defer {
            X509_free(issuer)
            EVP_PKEY_free(key)
        }
        let list = X509_CRL_new()
        defer { X509_CRL_free(list) }
        X509_CRL_set_version(list, 1)
        X509_CRL_set_issuer_name(list, X509_get_subject_name(issuer))
        let (from, until) = (X509_gmtime_adj(nil, -7200), X509_gmtime_adj(nil, isCurrent ? 3600 : -3600))
        X509_CRL_set1_lastUpdate(list, from)
        X509_CRL_set1_nextUpdate(list, until)
        for identity in revoked {
            let certificate = try Self.certificate(identity.pem)
            let entry = X509_REVOKED_new()
            X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(certificate))
            X509_REVOKED_set_revocationDate(entry, from)
            X509_CRL_add0_revoked(list, entry)
            X509_free(certificate)
        }
        ASN1_TIME_free(from)
        ASN1_TIME_free(until)
        X509_CRL_sort(list)
        X509_CRL_sign(list, key, EVP_sha256())
        let bytes = Self.bytes { i2d_X509_CRL(list, $0) }
        return "-----BEGIN X509 CRL-----\n\(Data(bytes).base64EncodedString())\n-----END X509 CRL-----\n"
    }

    /// An OCSP answer that the authority itself signed; DER.
    ///
    /// - Parameters:
    ///   - hours: for how many hours it is valid; negative for an expired one, nil to leave nextUpdate out.
    ///   - age: how many seconds ago it was made.
    package func ocspAnswer(
        on identity: TestIdentity, _ status: RevocationStatus, hours: Int? = 1, age: Int = 7200,
        signedBy signer: TestAuthority? = nil
    ) throws -> [UInt8] {
        let (issuer, leaf) = try (Self.certificate(pem), Self.certificate(identity.pem))
        let signer = signer ?? self
        let (signing, key) = try (Self.certificate(signer.pem), Self.key(signer.key.pemRepresentation))
        let (from, until) = (X509_gmtime_adj(nil, -age), hours.map { X509_gmtime_adj(nil, $0 * 3600) } ?? nil)
        let answer = OCSP_BASICRESP_new()
        defer {
            OCSP_BASICRESP_free(answer)
            for time in [from, until] { ASN1_TIME_free(time) }
            for certificate in [issuer, leaf, signing] { X509_free(certificate) }
            EVP_PKEY_free(key)
        }
        let code: Int32 =
            switch status {
            case .good: V_OCSP_CERTSTATUS_GOOD
            case .revoked: V_OCSP_CERTSTATUS_REVOKED
            case .unknown: V_OCSP_CERTSTATUS_UNKNOWN
            }
        let name = OCSP_cert_to_id(EVP_sha256(), leaf, issuer)
        OCSP_basic_add1_status(answer, name, code, 0, status == .revoked ? from : nil, from, until)
        OCSP_CERTID_free(name)
        OCSP_basic_sign(answer, signing, key, EVP_sha256(), nil, 0)
        let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, answer)
        defer { OCSP_RESPONSE_free(response) }
        return Self.bytes { i2d_OCSP_RESPONSE(response, $0) }
    }

    private static func bytes(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Int(write(nil))) { buffer, count in
            var position = buffer.baseAddress
            count = Int(write(&position))
        }
    }

    private static func certificate(_ pem: String) throws -> OpaquePointer {
        let found = Array(pem.utf8).withUnsafeBytes { bytes in
            let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count))
            defer { BIO_free(bio) }
            return PEM_read_bio_X509(bio, nil, nil, nil)
        }
        guard let found else { throw Unexpected("The certificate cannot be read.") }
        return found
    }

    private static func key(_ pem: String) throws -> OpaquePointer {
        let found = Array(pem.utf8).withUnsafeBytes { sallyport_read_key($0.baseAddress, Int32($0.count), nil) }
        guard let found else { throw Unexpected("The key cannot be read.") }
        return found
    }
}
