internal import FoundationEssentials
internal import SallyportBase
internal import SallyportCore
internal import SallyportSecureStore
internal import SallyportWire
internal import X509

/// The identity and the trust of this instance: written at the end of the activation.
struct IdentityRecord: Sendable, Codable {
    /// `HOST:PORT` of the control listener.
    var gateway: String
    /// The trusted authorities: first that of the activation link, then those of each configuration.
    var trust: ConfigurationDocument.Trust
    /// DER.
    var certificate: [UInt8]
    /// PKCS#8.
    var privateKey: String
    var user: String
    var name: InstanceName
    /// Unix seconds.
    var notBefore: Int64
    var notAfter: Int64

    /// The certificate and key for TLS; a description never shows the key.
    var clientIdentity: ClientIdentity {
        ClientIdentity(certificates: [certificate], privateKey: Redacted(privateKey))
    }

    /// Two thirds of the certificate's life.
    var renewalTime: Int64 { notBefore + (notAfter - notBefore) / 3 * 2 }
    /// How long after its expiry a certificate can still be renewed: 30 days.
    static let renewalGrace: Int64 = 30 * 86_400

    mutating func take(_ issued: (der: [UInt8], certificate: Certificate, name: InstanceName), key: EnrollmentKey) {
        certificate = issued.der
        privateKey = key.pem
        name = issued.name
        notBefore = Int64(issued.certificate.notValidBefore.timeIntervalSince1970)
        notAfter = Int64(issued.certificate.notValidAfter.timeIntervalSince1970)
    }
}

/// An unfinished enrolment: its key is durable before a request is sent to the gateway.
struct PendingEnrollment: Sendable, Codable {
    /// The link without its access key, to recognise the same activation; `renewal` for a renewal.
    var purpose: String
    /// PKCS#8.
    var privateKey: String
}

/// The decisions that were made on this machine and not by the gateway.
struct LocalDecisions: Sendable, Codable, Hashable {
    var blocks: [LocalBlock] = []
    var isLocked = false
    /// The administrator has locked after this lock: the unlocking lifts both.
    var consoleLockSeen = false
    /// The version given at activation, or the first one that the gateway chose.
    var version: String?

    /// The app's version: the one that the last configuration judged, or, before there is one, the one to be asked for. An
    /// app that was upgraded since its activation asks for another version than the one that is kept here.
    func version(under document: ConfigurationDocument?) -> String? {
        document?.entitlement.version.description ?? version
    }

    /// Updates them according to a new configuration.
    mutating func follow(_ document: ConfigurationDocument, knowsVersion: Bool) {
        if document.status == .active {
            if version == nil, !knowsVersion { version = document.entitlement.version.description }
            if consoleLockSeen { (isLocked, consoleLockSeen) = (false, false) }
        }
        if isLocked, document.isLockedByAdministrator { consoleLockSeen = true }
    }
}

extension ConfigurationDocument {
    /// Whether an administrator has locked the instance, for any reason. The lock of a version to which the user
    /// is not entitled is made by the gateway, and ends by itself.
    var isLockedByAdministrator: Bool { status == .locked && code != .appVersionNotEntitled }
}

/// A block that the app itself set.
public struct LocalBlock: Sendable, Codable, Hashable {
    /// The block's id, chosen by the app.
    public let id: String
    /// For people; at most 1,024 characters.
    public let title: String
    /// For people, and the message of the block's event; at most 1,024 characters.
    public let message: String
}

/// All records of the authorization, under reserved names.
struct AuthorizationRecords: Sendable {
    private static let key = "current"
    /// The mark of the gateway's own time, beside the one of the lease.
    private static let gatewayKey = "gateway"
    let store: SecureStore
    private let identities: StoreCollection<String, IdentityRecord>
    private let enrollments: StoreCollection<String, PendingEnrollment>
    private let configurations: StoreCollection<String, [UInt8]>
    private let marks: StoreCollection<String, TimeMark>
    private let decisions: StoreCollection<String, LocalDecisions>
    /// For each server, the fingerprint of its trusted chain.
    private let trustedChains: StoreCollection<String, [UInt8]>

    /// Everything that is read when an authorization opens.
    struct Contents: Sendable {
        var identity: IdentityRecord?
        var configuration: [UInt8]?
        var mark: TimeMark?
        /// Nil in a store that only an earlier version has written.
        var gatewayMark: TimeMark?
        var decisions = LocalDecisions()
        var hasPendingEnrollment = false

        /// The stored configuration, verified for the time of its signature: it was accepted then, and its lease
        /// decides whether it is still valid. Nil if it fails verification, so that a new one is fetched.
        var document: ConfigurationDocument? {
            guard let identity, let configuration,
                let signed = try? JWS(configuration, type: ConfigurationDocument.type),
                let claimed = try? ConfigurationDocument(parsing: signed.payload)
            else { return nil }
            let verifier = ConfigurationVerifier(trust: identity.trust, instance: identity.name)
            return try? verifier.verify(configuration, after: nil, at: claimed.iat)
        }
    }

    init(_ store: SecureStore) {
        self.store = store
        identities = store.reservedCollection("authorization.identity", of: IdentityRecord.self)
        enrollments = store.reservedCollection("authorization.enrollment", of: PendingEnrollment.self)
        configurations = store.reservedCollection("authorization.configuration", of: [UInt8].self)
        marks = store.reservedCollection("authorization.time", of: TimeMark.self)
        decisions = store.reservedCollection("authorization.decisions", of: LocalDecisions.self)
        trustedChains = store.reservedCollection("authorization.trust", of: [UInt8].self)
    }

    func contents() throws(AuthorizationError) -> Contents {
        do {
            return try store.read { transaction in
                try Contents(
                    identity: transaction.value(for: Self.key, in: identities),
                    configuration: transaction.value(for: Self.key, in: configurations),
                    mark: transaction.value(for: Self.key, in: marks),
                    gatewayMark: transaction.value(for: Self.gatewayKey, in: marks),
                    decisions: transaction.value(for: Self.key, in: decisions) ?? LocalDecisions(),
                    hasPendingEnrollment: transaction.value(for: Self.key, in: enrollments) != nil)
            }
        } catch {
            throw .store(error)
        }
    }

    /// The key for `purpose`: the stored one of an unfinished enrolment, or a new one; durable on return.
    func enrollmentKey(for purpose: String) async throws(AuthorizationError) -> EnrollmentKey {
        let enrollments = enrollments
        do {
            let pem = try await store.write { transaction in
                if let begun = try transaction.value(for: Self.key, in: enrollments), begun.purpose == purpose,
                    EnrollmentKey(pem: begun.privateKey) != nil
                {
                    return begun.privateKey
                }
                let pem = EnrollmentKey().pem
                let begun = PendingEnrollment(purpose: purpose, privateKey: pem)
                try transaction.set(begun, for: Self.key, in: enrollments)
                return pem
            }
            guard let key = EnrollmentKey(pem: pem) else {
                throw AuthorizationError(.store, .securityError, "The stored key cannot be read.")
            }
            return key
        } catch {
            throw .store(error)
        }
    }

    /// Ends an enrolment: the identity is durable on return and the enrolment's own copy of the key gone.
    ///
    /// - Parameter dropsConfiguration: true if the instance is a new one, with epochs of its own. False for a renewal,
    ///   which keeps what configurations have said about trust meanwhile.
    func finishEnrollment(
        _ identity: IdentityRecord, dropsConfiguration: Bool = false, isolation: isolated (any Actor)? = #isolation
    ) async throws(AuthorizationError) {
        let (identities, enrollments, configurations) = (identities, enrollments, configurations)
        try await write { transaction in
            var identity = identity
            let kept = try transaction.value(for: Self.key, in: identities)
            if !dropsConfiguration, let kept { identity.trust = kept.trust }
            try transaction.set(identity, for: Self.key, in: identities)
            try transaction.remove(Self.key, from: enrollments)
            if dropsConfiguration { try transaction.remove(Self.key, from: configurations) }
        }
    }

    /// Keeps the newest configuration: if two were adopted at nearly the same time, the later one may be written first.
    /// The new trust of the instance is stored in the same transaction.
    func setConfiguration(
        _ text: [UInt8], of document: ConfigurationDocument, mark: TimeMark, gatewayMark: TimeMark,
        decisions value: LocalDecisions, isolation: isolated (any Actor)? = #isolation
    ) async throws(AuthorizationError) {
        let (configurations, marks, decisions, identities) = (configurations, marks, decisions, identities)
        try await write { transaction in
            let kept = try transaction.value(for: Self.key, in: configurations)
            if let kept, let signed = try? JWS(kept, type: ConfigurationDocument.type),
                let known = try? ConfigurationDocument(parsing: signed.payload), known.isNewer(than: document)
            {
                return
            }
            if var identity = try transaction.value(for: Self.key, in: identities), identity.trust != document.trust {
                identity.trust = document.trust
                try transaction.set(identity, for: Self.key, in: identities)
            }
            try transaction.set(text, for: Self.key, in: configurations)
            try transaction.set(mark, for: Self.key, in: marks)
            try transaction.set(gatewayMark, for: Self.gatewayKey, in: marks)
            try transaction.set(value, for: Self.key, in: decisions)
        }
    }

    /// The epoch of the configuration in the store, 0 if there is none. With this counter, the gateway can tell a store
    /// from an older copy of it.
    func storedEpoch() throws(AuthorizationError) -> Int64 {
        let kept: [UInt8]?
        do {
            kept = try store.read { try $0.value(for: Self.key, in: configurations) }
        } catch {
            throw .store(error)
        }
        guard let kept, let signed = try? JWS(kept, type: ConfigurationDocument.type) else { return 0 }
        return (try? ConfigurationDocument(parsing: signed.payload).epoch) ?? 0
    }

    func setMarks(
        _ mark: TimeMark, gateway: TimeMark, isolation: isolated (any Actor)? = #isolation
    ) async throws(AuthorizationError) {
        let marks = marks
        try await write { transaction in
            try transaction.set(mark, for: Self.key, in: marks)
            try transaction.set(gateway, for: Self.gatewayKey, in: marks)
        }
    }

    func setDecisions(
        _ value: LocalDecisions, isolation: isolated (any Actor)? = #isolation
    ) async throws(AuthorizationError) {
        let decisions = decisions
        try await write { try $0.set(value, for: Self.key, in: decisions) }
    }

    // MARK: Trusted chains

    func trustedChain(at endpoint: Endpoint) throws -> [UInt8]? {
        try store.read { try $0.value(for: endpoint.description, in: trustedChains) }
    }

    /// - Returns: whether there was one.
    func setTrustedChain(_ fingerprint: [UInt8]?, at endpoint: Endpoint) async throws -> Bool {
        let (chains, key) = (trustedChains, endpoint.description)
        return try await store.write { transaction in
            let was = try transaction.value(for: key, in: chains)
            if let fingerprint {
                try transaction.set(fingerprint, for: key, in: chains)
            } else if was != nil {
                try transaction.remove(key, from: chains)
            }
            return was != nil
        }
    }

    /// The writes of one actor keep their order.
    private func write(
        isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (WriteTransaction) throws -> Void
    ) async throws(AuthorizationError) {
        do {
            try await store.write(isolation: isolation, body)
        } catch {
            throw .store(error)
        }
    }
}
