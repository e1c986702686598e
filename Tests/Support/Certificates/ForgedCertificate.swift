internal import COpenSSL

/// A certificate as a test wants it, right or wrong in any part, and its key: made with OpenSSL, which signs what
/// swift-certificates would not.
package struct ForgedCertificate: Sendable {
    package let pem: String
    /// PKCS#8.
    package let keyPEM: String
    package let der: [UInt8]
}

/// What a forged certificate says.
package struct CertificateDraft: Sendable {
    package enum Key: Sendable { case p256, rsa(bits: Int32) }
    package enum Digest: Sendable { case sha256, sha1, md5 }

    package var name: String
    package var key = Key.p256
    package var digest = Digest.sha256
    /// Seconds from now.
    package var validity = -3600...86400
    /// By name or number, in OpenSSL's words (`x509v3_config`), one of a name.
    package var extensions: [String: String]

    package init(_ name: String, extensions: [String: String]) { (self.name, self.extensions) = (name, extensions) }

    package static func authority(_ name: String = "Authority") -> CertificateDraft {
        CertificateDraft(
            name,
            extensions: [
                "basicConstraints": "critical,CA:TRUE", "keyUsage": "critical,keyCertSign,cRLSign",
                "subjectKeyIdentifier": "hash",
            ])
    }

    /// - Parameter names: such as `DNS:a.example,IP:127.0.0.1`; none where nil.
    package static func server(_ names: String?, named name: String = "server") -> CertificateDraft {
        var draft = CertificateDraft(
            name,
            extensions: [
                "basicConstraints": "critical,CA:FALSE", "keyUsage": "critical,digitalSignature,keyEncipherment",
                "extendedKeyUsage": "serverAuth",
            ])
        draft.extensions["subjectAltName"] = names
        return draft
    }

    /// - Parameter value: nil removes it.
    package func with(_ name: String, _ value: String?) -> CertificateDraft {
        var draft = self
        draft.extensions[name] = value
        return draft
    }

    package func with(_ key: Key, _ digest: Digest = .sha256) -> CertificateDraft {
        var draft = self
        (draft.key, draft.digest) = (key, digest)
        return draft
    }

    package func valid(_ seconds: ClosedRange<Int>) -> CertificateDraft {
        var draft = self
        draft.validity = seconds
        return draft
    }

    /// - Parameter issuer: nil for a certificate that is signed with its own key.
    package func issued(by issuer: ForgedCertificate? = nil) throws -> ForgedCertificate {
        guard let certificate = X509_new(), let own = makeKey() else { throw Unexpected("No memory.") }
        defer {
            X509_free(certificate)
            EVP_PKEY_free(own)
        }
        let issuerCertificate = issuer.flatMap { Self.read($0.pem) { PEM_read_bio_X509($0, nil, nil, nil) } }
        let issuerKey = issuer.flatMap { Self.read($0.keyPEM) { PEM_read_bio_PrivateKey($0, nil, nil, nil) } }
        defer {
            X509_free(issuerCertificate)
            EVP_PKEY_free(issuerKey)
        }
        fill(certificate, own, issuedBy: issuerCertificate ?? certificate)
        for (name, value) in extensions.sorted(by: { $0.key < $1.key }) {
            try add(name, value, to: certificate, issuerCertificate ?? certificate)
        }
        guard X509_sign(certificate, issuerKey ?? own, algorithm) > 0 else { throw Unexpected("It cannot be signed.") }
        return ForgedCertificate(
            pem: Self.text { PEM_write_bio_X509($0, certificate) },
            keyPEM: Self.text { PEM_write_bio_PKCS8PrivateKey($0, own, nil, nil, 0, nil, nil) },
            der: Self.bytes { i2d_X509_bio($0, certificate) })
    }
}

extension CertificateDraft {
    private func fill(_ certificate: OpaquePointer, _ key: OpaquePointer, issuedBy issuer: OpaquePointer) {
        X509_set_version(certificate, 2)
        ASN1_INTEGER_set(X509_get_serialNumber(certificate), Int.random(in: 1...(1 << 60)))
        X509_gmtime_adj(X509_getm_notBefore(certificate), validity.lowerBound)
        X509_gmtime_adj(X509_getm_notAfter(certificate), validity.upperBound)
        let subject = X509_get_subject_name(certificate)
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, Array(name.utf8), Int32(name.utf8.count), -1, 0)
        X509_set_issuer_name(certificate, X509_get_subject_name(issuer))
        X509_set_pubkey(certificate, key)
    }

    private func add(
        _ name: String, _ value: String, to certificate: OpaquePointer, _ issuer: OpaquePointer
    ) throws {
        var context = X509V3_CTX()
        X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
        guard let made = X509V3_EXT_conf(nil, &context, name, value) else {
            throw Unexpected("OpenSSL takes no extension \(name) with \(value).")
        }
        X509_add_ext(certificate, made, -1)
        X509_EXTENSION_free(made)
    }

    private var algorithm: OpaquePointer? {
        switch digest {
        case .sha256: EVP_sha256()
        case .sha1: EVP_sha1()
        case .md5: EVP_md5()
        }
    }

    private func makeKey() -> OpaquePointer? {
        let kind =
            switch key {
            case .p256: EVP_PKEY_EC
            case .rsa: EVP_PKEY_RSA
            }
        let context = EVP_PKEY_CTX_new_id(kind, nil)
        defer { EVP_PKEY_CTX_free(context) }
        EVP_PKEY_keygen_init(context)
        switch key {
        case .p256: EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
        case .rsa(let bits): EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits)
        }
        var made: OpaquePointer?
        return EVP_PKEY_keygen(context, &made) == 1 ? made : nil
    }

    private static func read(_ text: String, _ body: (OpaquePointer?) -> OpaquePointer?) -> OpaquePointer? {
        Array(text.utf8).withUnsafeBytes { buffer in
            let bio = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count))
            defer { BIO_free(bio) }
            return body(bio)
        }
    }

    private static func bytes(_ write: (OpaquePointer?) -> Int32) -> [UInt8] {
        let bio = BIO_new(BIO_s_mem())
        defer { BIO_free(bio) }
        guard write(bio) == 1 else { return [] }
        let count = Int(BIO_ctrl_pending(bio))
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = max(0, Int(BIO_read(bio, buffer.baseAddress, Int32(count))))
        }
    }

    private static func text(_ write: (OpaquePointer?) -> Int32) -> String {
        String(decoding: bytes(write), as: UTF8.self)
    }
}
