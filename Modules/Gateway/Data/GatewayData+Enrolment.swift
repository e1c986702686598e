internal import Crypto
internal import Foundation
internal import HashTreeCollections
internal import SallyportBase
internal import SallyportSecureStore
internal import SallyportWire
internal import X509

/// What a request for enrolment says of its app. What is nil is not checked.
struct EnrolledApplication: Sendable {
    var entitlement: EntitlementIdentifier?
    var version: EntitlementVersion?

    /// - Throws: `wrongApplication`, `versionNotEntitled`, or the refusal of a user who has no right to the app any more.
    func check(_ key: AccessKeyRecord, in directory: Directory) throws(GatewayError) {
        let entitled = directory.versions(for: key)
        guard !entitled.isEmpty else { throw AccessKeyRecord.refusal }
        if let entitlement, entitlement != key.entitlement {
            throw GatewayError(.wrongApplication, "The access key is for another app.")
        }
        if let version, !entitled.contains(version) {
            throw GatewayError(.versionNotEntitled, "The user is not entitled to this version of the app.")
        }
    }
}

extension GatewayData {
    /// Answers an enrolment: the access key is consumed in the transaction that records the request's public key.
    ///
    /// Only a request with the right key and user is told why the key is refused. All other requests are wrong
    /// attempts, of which one a second is answered for each source; they never delay a right key.
    ///
    /// - Parameter source: the source by which wrong tries are counted.
    /// - Returns: the certificate and the authority, DER.
    /// - Throws: `wrongApplication` and `versionNotEntitled`, which leave the access key unused.
    func enroll(
        _ credentials: BasicCredentials, for application: EnrolledApplication = EnrolledApplication(), request: [UInt8],
        source: [UInt8]
    ) async throws -> [[UInt8]] {
        let now = clock()
        let digest = AccessKey.digest(credentials.password.reveal(), of: credentials.user)
        guard let record = try await store.accessKey(under: digest) else { throw wrongTry(from: source, at: now) }
        let key = try CertificateAuthority.key(ofRequest: request)
        let keyDigest = Array(SHA256.hash(data: Self.bytes(of: key)))
        let isEntitled = !directory.versions(for: record).isEmpty
        if isEntitled, let use = record.use, record.repeats(keyDigest, at: now) {
            try application.check(record, in: directory)
            return [use.certificate, authority.der]
        }
        try Self.checkUnused(record, at: now)
        return try await consume(record, application, digest: digest, key: key, keyDigest: keyDigest, now: now)
    }

    private func wrongTry(from source: [UInt8], at now: Date) -> GatewayError {
        guard wrongTries.takes(source, at: now) else {
            return GatewayError(.limited, "Too many wrong tries: wait a second.")
        }
        return AccessKeyRecord.refusal
    }

    private static func checkUnused(_ record: AccessKeyRecord, at now: Date) throws(GatewayError) {
        switch record.standing(at: now) {
        case .unused: return
        case .used: throw AccessKeyRecord.wasUsed
        case .expired: throw GatewayError(.keyExpired, "The access key has expired.")
        }
    }

    private static func bytes(of key: Certificate.PublicKey) -> [UInt8] {
        P256.Signing.PublicKey(key).map { Array($0.x963Representation) } ?? []
    }

    /// The right is judged in the transaction that uses up the key, so that a removal comes before it or after it: then
    /// it ends the new instance too. A key whose instance is known was used, whatever its record says.
    private func consume(
        _ record: AccessKeyRecord, _ application: EnrolledApplication, digest: [UInt8], key: Certificate.PublicKey,
        keyDigest: [UInt8], now: Date
    ) async throws -> [[UInt8]] {
        let id = AccessKey.instance(ofDigest: digest)
        guard instances[id] == nil else { throw AccessKeyRecord.wasUsed }
        let name = InstanceName(entitlement: record.entitlement, instance: id)
        let certificate = try authority.instance(name, key: key, now: now)
        let instance = InstanceRecord(
            name: name, user: record.user, userID: record.userID, certificate: .init(certificate), activated: now)
        let use = AccessKeyRecord.Use(publicKey: keyDigest, instance: name, certificate: certificate, time: now)
        let note = note(.activation, of: instance).with(.key, record.id.description)
        let consumption = try await store.consume(
            digest, for: use, by: instance, known: knownDirectory, audit: note
        ) { directory, key in
            try application.check(key, in: directory)
        }
        switch consumption {
        case .made(let revision):
            // The relay must know the instance before the instance connects.
            try await catchUp(to: revision)
            return [certificate, authority.der]
        case .repeated(let earlier):
            try application.check(record, in: directory)
            return [earlier.certificate, authority.der]
        }
    }

    /// Renews an instance's certificate. A request for the same key gets the same certificate, since apps ask another
    /// gateway if the first one is slow.
    ///
    /// Renewal with a certificate that was replaced locks the instance: only a copy of the store still has it.
    func reenroll(_ presented: PresentedCertificate, request: [UInt8]) async throws -> [[UInt8]] {
        let now = clock()
        guard presented.end.addingTimeInterval(CertificateAuthority.Lifetime.renewalGrace) > now else {
            throw GatewayError(.expired, "The certificate expired more than 30 days ago: activate again.")
        }
        let record = try await known(presented)
        if record.standing(of: presented.serial).isAccepted { contacts.note(record.name.instance, at: now) }
        let key = try CertificateAuthority.key(ofRequest: request)
        do {
            return [try await renew(presented, for: key, note(.renewal, of: record), at: now), authority.der]
        } catch {
            guard let error = error as? GatewayError, error.code == .retired else { throw error }
            let note = note(.lock, of: record)
            try await change(presented.name.instance, audit: note.with(.detail, "store copied")) {
                $0.withdrawals.insert(.locked)
            }
            throw GatewayError(.locked, "The certificate was replaced: the store was copied, and is locked now.")
        }
    }

    /// Decides by the record in the store: a moment ago, another gateway may have renewed the certificate, or seen the
    /// new one.
    ///
    /// - Returns: the certificate in force for the key, DER.
    /// - Throws: `retired` for a certificate that was replaced by one for another key.
    private func renew(
        _ presented: PresentedCertificate, for key: Certificate.PublicKey, _ note: AuditNote, at now: Date
    ) async throws -> [UInt8] {
        let (directory, authority) = (directory, authority)
        let publicKey = Data(SHA256.hash(data: Self.bytes(of: key)))
        return try await change(presented.name.instance, audit: note) { record throws -> [UInt8] in
            let isEntitled = !directory.versions(for: record).isEmpty
            return try record.renew(for: publicKey, presenting: presented.serial, isEntitled: isEntitled, at: now) {
                try authority.instance(presented.name, key: key, now: now)
            }
        }.value
    }
}
