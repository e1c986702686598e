internal import Crypto
internal import Foundation
internal import SallyportBase
internal import SallyportSecureStore
internal import SallyportWire
internal import X509

extension GatewayData {
    /// Answers an enrolment: the access key is consumed in the transaction that records the request's public key.
    ///
    /// Only a request with the right key and user is told why the key is refused. All other requests are wrong
    /// attempts, of which one a second is answered for each source; they never delay a right key.
    ///
    /// - Parameter source: the source by which wrong tries are counted.
    /// - Returns: the certificate and the authority, DER.
    func enroll(_ credentials: BasicCredentials, request: [UInt8], source: [UInt8]) async throws -> [[UInt8]] {
        let now = clock()
        let digest = AccessKey.digest(credentials.password.reveal(), of: credentials.user)
        let record = try store.read { try $0.value(for: digest, in: collections.keys) }
        guard let record else { throw wrongTry(from: source, at: now) }
        let key = try CertificateAuthority.key(ofRequest: request)
        let keyDigest = Array(SHA256.hash(data: Self.bytes(of: key)))
        let isEntitled = !directory.versions(for: record).isEmpty
        if isEntitled, let use = record.use, record.repeats(keyDigest, at: now) {
            return [use.certificate, authority.der]
        }
        try Self.checkUnused(record, at: now)
        guard isEntitled else { throw Self.refusal }
        return try await consume(record, digest: digest, key: key, keyDigest: keyDigest, now: now)
    }

    private func wrongTry(from source: [UInt8], at now: Date) -> GatewayError {
        guard wrongTries.takes(source, at: now) else {
            return GatewayError(.limited, "Too many wrong tries: wait a second.")
        }
        return Self.refusal
    }

    private static var refusal: GatewayError { GatewayError(.unauthorized, "User and access key are not accepted.") }

    private static func checkUnused(_ record: AccessKeyRecord, at now: Date) throws(GatewayError) {
        switch record.standing(at: now) {
        case .unused: return
        case .used: throw GatewayError(.keyUsed, "The access key was used already.")
        case .expired: throw GatewayError(.keyExpired, "The access key has expired.")
        }
    }

    private static func bytes(of key: Certificate.PublicKey) -> [UInt8] {
        P256.Signing.PublicKey(key).map { Array($0.x963Representation) } ?? []
    }

    /// The new instance is in memory before it is durable, so that a removal that comes meanwhile ends it too.
    private func consume(
        _ record: AccessKeyRecord, digest: [UInt8], key: Certificate.PublicKey, keyDigest: [UInt8], now: Date
    ) async throws -> [[UInt8]] {
        let name = InstanceName(entitlement: record.entitlement, instance: InstanceIdentifier())
        let certificate = try authority.instance(name, key: key, now: now)
        let instance = InstanceRecord(
            name: name, user: record.user, userID: record.userID, certificate: .init(certificate), activated: now)
        let use = AccessKeyRecord.Use(publicKey: keyDigest, instance: name, certificate: certificate, time: now)
        instances[name.instance] = instance
        let winner: AccessKeyRecord.Use
        do {
            winner = try await store.write { [collections] transaction in
                try Self.use(use, of: digest, for: instance, in: transaction, collections)
            }
        } catch {
            instances[name.instance] = nil
            throw error
        }
        // The relay decides by a snapshot, which must contain the instance before the instance connects.
        if winner == use { tell(.instance(name.instance)) } else { instances[name.instance] = nil }
        return [winner.certificate, authority.der]
    }

    /// Reads the key again in the transaction: if two requests use it at once, the second finds the first one's use; if
    /// it was removed meanwhile, there is no key.
    ///
    /// - Returns: the use that was recorded first.
    private static func use(
        _ use: AccessKeyRecord.Use, of digest: [UInt8], for instance: InstanceRecord, in transaction: WriteTransaction,
        _ collections: Collections
    ) throws -> AccessKeyRecord.Use {
        guard var current = try transaction.value(for: digest, in: collections.keys) else { throw refusal }
        if let earlier = current.use {
            guard earlier.publicKey == use.publicKey else {
                throw GatewayError(.keyUsed, "The access key was used already.")
            }
            return earlier
        }
        current.use = use
        try transaction.set(current, for: digest, in: collections.keys)
        try transaction.set(instance, for: instance.name.instance.description, in: collections.instances)
        return use
    }

    /// Renews an instance's certificate.
    ///
    /// Renewal with a certificate that was replaced locks the instance: only a copy of the store still has it.
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
        guard record.ended == nil, !directory.versions(for: record).isEmpty else {
            throw GatewayError(.forbidden, "The instance is withdrawn.")
        }
        let key = try CertificateAuthority.key(ofRequest: request)
        let certificate = try authority.instance(presented.name, key: key, now: now)
        try await change(presented.name.instance) { $0.renewed = .init(certificate) }
        return [certificate, authority.der]
    }
}
