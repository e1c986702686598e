internal import Crypto
internal import Foundation
internal import SallyportCore
package import SallyportSecureStore
internal import SallyportWire
internal import X509

/// The state of a gateway: directory, instances, keys, identities; the only thing that writes its store.
///
/// An actor, so that each change is one transaction and each of two uses of one access key sees the other.
package actor GatewayData {
    private let store: SecureStore
    private let collections: Collections
    private var directory: Directory
    private var instances: [InstanceIdentifier: InstanceRecord]
    private(set) var settings: GatewaySettings
    private let authority: CertificateAuthority
    private var signer: StoredIdentity
    private var server: StoredIdentity
    private let clock: @Sendable () -> Date
    private var observers: [@Sendable (GatewayChange) -> Void] = []
    /// Wrong tries by source, for the limit of one a second.
    private var attempts = AttemptLimiter()

    private struct Collections: Sendable {
        let directory: StoreCollection<String, Directory>
        let instances: StoreCollection<String, InstanceRecord>
        let keys: StoreCollection<[UInt8], AccessKeyRecord>
        let settings: StoreCollection<String, GatewaySettings>
        let identities: StoreCollection<String, StoredIdentity>

        init(_ store: SecureStore) {
            directory = store.reservedCollection("gateway.directory", of: Directory.self)
            instances = store.reservedCollection("gateway.instances", of: InstanceRecord.self)
            keys = store.reservedCollection("gateway.keys", of: AccessKeyRecord.self, keyedBy: [UInt8].self)
            settings = store.reservedCollection("gateway.settings", of: GatewaySettings.self)
            identities = store.reservedCollection("gateway.identities", of: StoredIdentity.self)
        }
    }

    /// Makes the data of a new gateway: its authority, its certificates, an empty directory that denies.
    package static func initialize(_ store: SecureStore, name: String) async throws {
        let collections = Collections(store)
        guard let host = (try? Host(name))?.bareText else {
            throw GatewayError(.invalid, "--name is the host name that apps reach the gateway under.")
        }
        guard try store.read({ try $0.value(for: "gateway", in: collections.settings) }) == nil else {
            throw GatewayError(.alreadyInitialized, "The directory holds a gateway already.")
        }
        let now = Date()
        let ca = try CertificateAuthority.create(name: host, now: now)
        let authority = try CertificateAuthority(ca)
        let server = try authority.server(host: host, now: now)
        let signer = try authority.signer(now: now)
        let settings = GatewaySettings(
            name: host, controlPort: ControlAPI.defaultPort, relayPort: ControlAPI.defaultRelayPort)
        try await store.write { transaction in
            try transaction.set(ca, for: "authority", in: collections.identities)
            try transaction.set(server, for: "server", in: collections.identities)
            try transaction.set(signer, for: "signer", in: collections.identities)
            try transaction.set(settings, for: "gateway", in: collections.settings)
            try transaction.set(Directory(), for: "directory", in: collections.directory)
        }
    }

    /// - Parameter clock: the wall clock.
    init(_ store: SecureStore, clock: @escaping @Sendable () -> Date) throws {
        self.store = store
        self.clock = clock
        let collections = Collections(store)
        self.collections = collections
        let loaded = try store.read { snapshot in
            (
                try snapshot.value(for: "gateway", in: collections.settings),
                try snapshot.value(for: "directory", in: collections.directory),
                try snapshot.all(in: collections.instances),
                try snapshot.value(for: "authority", in: collections.identities),
                try snapshot.value(for: "server", in: collections.identities),
                try snapshot.value(for: "signer", in: collections.identities)
            )
        }
        guard let settings = loaded.0, let directory = loaded.1, let authority = loaded.3, let server = loaded.4,
            let signer = loaded.5
        else { throw GatewayError(.notInitialized, "There is no gateway here: `sallyport gateway init` makes one.") }
        self.settings = settings
        self.directory = directory
        self.authority = try CertificateAuthority(authority)
        self.server = server
        self.signer = signer
        instances = Dictionary(loaded.2.map { ($0.1.name.instance, $0.1) }) { first, _ in first }
    }

    package func close() { store.close() }

    /// Calls `observer` after each change, on this actor.
    func onChange(_ observer: @escaping @Sendable (GatewayChange) -> Void) { observers.append(observer) }

    private func tell(_ change: GatewayChange) { for observer in observers { observer(change) } }
}

/// What changed, for event streams and relay.
enum GatewayChange: Sendable {
    /// Policy: every instance's configuration.
    case directory
    case instance(InstanceIdentifier)
    case serverCertificate
}

/// Slows wrong access keys down to one a second a source.
struct AttemptLimiter: Sendable {
    private var last: [String: Date] = [:]

    /// Whether a source tried wrongly less than a second ago.
    func isBarred(_ source: String, at now: Date) -> Bool {
        last[source].map { now.timeIntervalSince($0) < 1 } ?? false
    }

    mutating func failed(_ source: String, at now: Date) {
        if last.count >= 10_000 { last = last.filter { now.timeIntervalSince($0.value) < 1 } }
        last[source] = now
    }
}

// MARK: Identity and settings

extension GatewayData {
    var authorityDER: [UInt8] { authority.der }
    var serverIdentity: StoredIdentity { server }
    var name: String { settings.name }

    /// Remembers the ports that the gateway listens on, which links and cluster `main` name.
    func listens(controlPort: UInt16, relayPort: UInt16) async throws {
        var settings = settings
        settings.controlPort = controlPort
        settings.relayPort = relayPort
        settings.starts += 1
        try await store.write { [collections, settings] in
            try $0.set(settings, for: "gateway", in: collections.settings)
        }
        self.settings = settings
        tell(.directory)
    }

    /// A server certificate for a foreign relay.
    func issued(host: String) -> Result<(identity: StoredIdentity, authority: [UInt8]), GatewayError> {
        guard let host = try? Host(host) else {
            return .failure(GatewayError(.invalid, "HOST is a host name or an address."))
        }
        do throws(GatewayError) {
            return .success((try authority.server(host: host.bareText, now: clock()), authority.der))
        } catch {
            return .failure(error)
        }
    }

    /// Renews the gateway's own certificates at two thirds of their life.
    func renewOwnCertificates() async throws {
        let now = clock()
        let isServerDue = Self.isDue(server, now)
        let isSignerDue = Self.isDue(signer, now)
        guard isServerDue || isSignerDue else { return }
        let newServer = isServerDue ? try authority.server(host: settings.name, now: now) : server
        let newSigner = isSignerDue ? try authority.signer(now: now) : signer
        try await store.write { [collections] transaction in
            try transaction.set(newServer, for: "server", in: collections.identities)
            try transaction.set(newSigner, for: "signer", in: collections.identities)
        }
        (server, signer) = (newServer, newSigner)
        tell(.serverCertificate)
    }

    private static func isDue(_ identity: StoredIdentity, _ now: Date) -> Bool {
        guard let start = CertificateAuthority.start(ofDER: identity.certificate),
            let end = CertificateAuthority.end(ofDER: identity.certificate)
        else { return true }
        return now.timeIntervalSince(start) > end.timeIntervalSince(start) * 2 / 3
    }
}

// MARK: Enrolment

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

    /// Renews an instance's certificate; a replaced one locks the instance, since only a copy of the store has it.
    func reenroll(_ presented: PresentedCertificate, request: [UInt8]) async throws -> [[UInt8]] {
        let now = clock()
        guard presented.end.addingTimeInterval(CertificateAuthority.Lifetime.renewalGrace) > now else {
            throw GatewayError(.expired, "The certificate expired more than 30 days ago: activate again.")
        }
        var record = try await admitted(presented)
        guard record.withdrawal != .wiped, isEntitled(record) else {
            throw GatewayError(.forbidden, "The instance is withdrawn.")
        }
        let key = try CertificateAuthority.key(ofRequest: request)
        let certificate = try authority.instance(presented.name, key: key, now: now)
        record.nextSerial = CertificateAuthority.serial(ofDER: certificate)
        try await keep(record)
        return [certificate, authority.der]
    }

    /// The instance that a certificate stands for. The first use of a renewed certificate retires the old one.
    ///
    /// - Throws: `unauthorized` for an unknown serial number, `locked` for a retired one, after locking the instance.
    func admitted(_ presented: PresentedCertificate) async throws -> InstanceRecord {
        guard var record = instances[presented.name.instance], record.name == presented.name else {
            throw GatewayError(.unauthorized, "The instance is not known here.")
        }
        if presented.serial == record.serial { return record }
        if presented.serial == record.nextSerial {
            record.retiredSerials = ([record.serial] + record.retiredSerials).prefix(InstanceRecord.retiredLimit).map(
                \.self)
            record.serial = presented.serial
            record.nextSerial = nil
            try await keep(record)
            return record
        }
        if record.retiredSerials.contains(presented.serial) {
            record.withdrawals.insert(.locked)
            try await keep(record)
            throw GatewayError(.locked, "The certificate was replaced: the store was copied, and is locked now.")
        }
        throw GatewayError(.unauthorized, "The certificate is not known here.")
    }

    private func keep(_ record: InstanceRecord) async throws {
        instances[record.name.instance] = record
        try await store.write { [collections] in
            try $0.set(record, for: record.name.instance.description, in: collections.instances)
        }
        tell(.instance(record.name.instance))
    }

    private func isEntitled(_ record: InstanceRecord) -> Bool {
        !directory.versions(of: record.name.entitlement.description, for: record.user).isEmpty
    }
}

// MARK: Configuration

extension GatewayData {
    /// Signs the configuration of an instance, with a new epoch.
    func configuration(for presented: PresentedCertificate, version: String?) async throws -> String {
        var record = try await admitted(presented)
        let now = clock()
        let asked = version.flatMap(EntitlementVersion.init) ?? record.version.flatMap(EntitlementVersion.init)
        let entitled = directory.versions(of: record.name.entitlement.description, for: record.user)
        let version = asked ?? entitled.last
        record.version = version?.description
        record.lastSeen = now
        record.epoch = max(record.epoch + 1, Int64(now.timeIntervalSince1970 * 1000))
        instances[record.name.instance] = record
        let kept = record
        try await store.write { [collections] in
            try $0.set(kept, for: kept.name.instance.description, in: collections.instances)
        }
        let document = try ConfigurationBuilder(
            directory: directory, record: record, settings: settings, authority: authority.der, now: now
        ).document(version: version, entitled: entitled)
        let signer = try signer.parsed()
        return try JWS.sign(
            document.serialized(),
            header: JWS.Header(type: ConfigurationDocument.type, certificates: [self.signer.certificate]),
            with: signer.key)
    }

    /// What the control plane asks for each presented certificate.
    func presented(_ der: [UInt8]) throws(GatewayError) -> PresentedCertificate {
        try authority.instance(presented: der, now: clock())
    }

    func isExpired(_ presented: PresentedCertificate) -> Bool { presented.isExpired(at: clock()) }

    func status(of record: InstanceRecord) -> ConfigurationDocument.Status {
        let entitled = directory.versions(of: record.name.entitlement.description, for: record.user)
        return ConfigurationBuilder.status(of: record, entitled: entitled).status
    }

    /// What the relay decides with, as a value that needs no actor.
    func relaySnapshot() -> RelaySnapshot {
        RelaySnapshot(authority: authority, directory: directory, instances: instances, clock: clock)
    }
}

// MARK: Administration

extension GatewayData {
    /// Carries out one command, as one transaction.
    package func perform(_ command: AdministrationCommand) async -> AdministrationReply {
        do {
            return try await performed(command)
        } catch let error as GatewayError {
            return .failure(.init(name: error.code.description, message: error.message))
        } catch {
            return .failure(.init(name: "internalFailure", message: "The gateway's store failed: \(error)"))
        }
    }

    private func performed(_ command: AdministrationCommand) async throws -> AdministrationReply {
        switch command {
        case .listUsers: return .users(directory.users.keys.sorted())
        case .show: return .configuration(try directory.declaration.yaml())
        case .listInstances: return .instances(entries())
        case .issueKey(let user, let entitlement): return .link(try await issueKey(user, entitlement))
        case .withdraw(let instance, let withdrawal):
            try await withdraw(instance, withdrawal)
            return .done
        case .apply(let yaml, let prune, let dryRun, let confirmed):
            let new = try directory.applying(Declaration(yaml: yaml), prune: prune)
            let changes = directory.difference(to: new)
            if dryRun { return .changes(changes) }
            return try await replace(with: new, confirmed: confirmed) ?? .changes(changes)
        default:
            var new = directory
            let confirmed = try new.apply(command)
            return try await replace(with: new, confirmed: confirmed) ?? .done
        }
    }

    /// Puts a new directory in place, unless instances would lose every version and that is not confirmed.
    private func replace(with new: Directory, confirmed: Bool) async throws -> AdministrationReply? {
        let losing = instances.values.filter { record in
            record.withdrawal != .wiped && isEntitled(record)
                && new.versions(of: record.name.entitlement.description, for: record.user).isEmpty
        }
        guard losing.isEmpty || confirmed else {
            return .needsConfirmation(losing.map(entry).sorted { $0.instance < $1.instance })
        }
        try await store.write { [collections] in try $0.set(new, for: "directory", in: collections.directory) }
        directory = new
        tell(.directory)
        return nil
    }

    private func issueKey(_ user: String, _ entitlement: String) async throws -> String {
        guard directory.users[user] != nil else {
            throw GatewayError(.notFound, "No user \(user): `admin user list` shows them.")
        }
        guard let id = EntitlementIdentifier(entitlement), !directory.versions(of: entitlement, for: user).isEmpty
        else {
            throw GatewayError(
                .notFound, "User \(user) is entitled to no version of \(entitlement): `admin entitle` entitles.")
        }
        let key = AccessKey.generate()
        let record = AccessKeyRecord(user: user, entitlement: id, issued: clock())
        let digest = AccessKey.digest(key)
        try await store.write { [collections] in try $0.set(record, for: digest, in: collections.keys) }
        let fingerprint = Array(SHA256.hash(data: authority.der))
        return try ActivationLink(
            gateway: Endpoint(host: Host(settings.name), port: settings.controlPort),
            authorityFingerprint: fingerprint, user: user, accessKey: Redacted(key)
        ).text
    }

    private func withdraw(_ text: String, _ withdrawal: AdministrationCommand.Withdrawal) async throws {
        guard let id = InstanceIdentifier(text), var record = instances[id] else {
            throw GatewayError(.notFound, "No instance \(text): `admin instances` shows them.")
        }
        guard record.withdrawal != .wiped else {
            throw GatewayError(.invalid, "Instance \(id) is wiped: it can only be activated anew.")
        }
        switch withdrawal {
        case .block: record.withdrawals.insert(.blocked)
        case .unblock: record.withdrawals.remove(.blocked)
        case .lock: record.withdrawals.insert(.locked)
        case .unlock: record.withdrawals.remove(.locked)
        case .wipe: record.withdrawals.insert(.wiped)
        }
        try await keep(record)
    }

    private func entries() -> [AdministrationReply.InstanceEntry] {
        instances.values.map(entry).sorted { $0.instance < $1.instance }
    }

    private func entry(_ record: InstanceRecord) -> AdministrationReply.InstanceEntry {
        AdministrationReply.InstanceEntry(
            instance: record.name.instance.description, user: record.user,
            entitlement: record.name.entitlement.description, version: record.version ?? "",
            status: status(of: record).rawValue)
    }
}
