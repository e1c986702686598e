internal import Crypto
internal import Foundation
internal import SallyportCore
internal import SallyportSecureStore
internal import SallyportWire
internal import X509

extension GatewayData {
    /// Answers an enrolment: the access key is consumed in the transaction that records the request's public key.
    ///
    /// - Returns: the certificate and the authority, DER.
    func enroll(_ credentials: BasicCredentials, request: [UInt8], source: String) async throws -> [[UInt8]] {
        try await slowDown(source)
        let now = clock()
        let key = try CertificateAuthority.key(ofRequest: request)
        let keyDigest = Array(SHA256.hash(data: Self.octets(of: key)))
        let digest = AccessKey.digest(credentials.password.reveal())
        let record = try store.read { try $0.value(for: digest, in: collections.keys) }
        guard let record, record.user == credentials.user, isUsable(record, by: keyDigest, at: now) else {
            attempts.failed(source, at: now)
            throw GatewayError(.unauthorized, "User and access key are not accepted: wrong, used or expired.")
        }
        if let use = record.use { return [use.certificate, authority.der] }
        return try await consume(record, digest: digest, key: key, keyDigest: keyDigest, now: now)
    }

    /// Makes a source that tried wrongly wait out its second; of several that wait, one wrong one bars the others.
    private func slowDown(_ source: String) async throws {
        guard attempts.isBarred(source, at: clock()) else { return }
        try await Task.sleep(for: .seconds(1))
        guard attempts.isBarred(source, at: clock()) else { return }
        throw GatewayError(.unauthorized, "Too many wrong tries: wait a second.")
    }

    private static func octets(of key: Certificate.PublicKey) -> [UInt8] {
        P256.Signing.PublicKey(key).map { Array($0.x963Representation) } ?? []
    }

    private func isUsable(_ record: AccessKeyRecord, by publicKey: [UInt8], at now: Date) -> Bool {
        guard directory.users[record.user] != nil else { return false }
        if let use = record.use {
            return use.publicKey == publicKey && now.timeIntervalSince(use.time) < AccessKeyRecord.repeatInterval
        }
        return now.timeIntervalSince(record.issued) < AccessKeyRecord.lifetime
    }

    private func consume(
        _ record: AccessKeyRecord, digest: [UInt8], key: Certificate.PublicKey, keyDigest: [UInt8], now: Date
    ) async throws -> [[UInt8]] {
        let name = InstanceName(entitlement: record.entitlement, instance: InstanceIdentifier())
        let certificate = try authority.instance(name, key: key, now: now)
        let instance = InstanceRecord(
            name: name, user: record.user, serial: CertificateAuthority.serial(ofDER: certificate), activated: now)
        let use = AccessKeyRecord.Use(publicKey: keyDigest, instance: name, certificate: certificate, time: now)
        // The transaction looks again: of two uses at once, one finds the other's.
        let winner = try await store.write { [collections] transaction -> AccessKeyRecord.Use in
            var current = try transaction.value(for: digest, in: collections.keys) ?? record
            if let earlier = current.use {
                guard earlier.publicKey == keyDigest else {
                    throw GatewayError(.unauthorized, "User and access key are not accepted: wrong, used or expired.")
                }
                return earlier
            }
            current.use = use
            try transaction.set(current, for: digest, in: collections.keys)
            try transaction.set(instance, for: name.instance.description, in: collections.instances)
            return use
        }
        if winner == use {
            instances[name.instance] = instance
            // The relay decides with a snapshot: it must know the instance before the instance comes.
            tell(.instance(name.instance))
        }
        return [winner.certificate, authority.der]
    }

    /// Renews an instance's certificate.
    ///
    /// Renewal with a certificate that was replaced locks the instance: only a copy of the store has it still.
    func reenroll(_ presented: PresentedCertificate, request: [UInt8]) async throws -> [[UInt8]] {
        let now = clock()
        guard presented.end.addingTimeInterval(CertificateAuthority.Lifetime.renewalGrace) > now else {
            throw GatewayError(.expired, "The certificate expired more than 30 days ago: activate again.")
        }
        let record: InstanceRecord
        do {
            record = try await admitted(presented)
        } catch let error as GatewayError {
            guard error.code == .retired else { throw error }
            try await change(presented.name.instance) { $0.withdrawals.insert(.locked) }
            throw GatewayError(.locked, "The certificate was replaced: the store was copied, and is locked now.")
        }
        guard record.withdrawal != .wiped, !directory.versions(for: record).isEmpty else {
            throw GatewayError(.forbidden, "The instance is withdrawn.")
        }
        let key = try CertificateAuthority.key(ofRequest: request)
        let certificate = try authority.instance(presented.name, key: key, now: now)
        try await change(presented.name.instance) {
            $0.nextSerial = CertificateAuthority.serial(ofDER: certificate)
        }
        return [certificate, authority.der]
    }
}
