internal import Crypto
internal import Foundation
internal import SallyportBase
internal import SallyportCore
package import SallyportSecureStore
internal import SallyportWire
internal import X509

/// The state of a gateway: directory, instances, keys, identities; the only thing that writes its store.
///
/// An actor, so that each change is one transaction and each of two uses of one access key sees the other.
package actor GatewayData {
    let store: SecureStore
    let collections: Collections
    var directory: Directory { didSet { revision += 1 } }
    var instances: [InstanceIdentifier: InstanceRecord]
    var settings: GatewaySettings { didSet { revision += 1 } }
    /// Rises with each change of what instances share.
    private(set) var revision: UInt64 = 1
    /// Of the instances whose configuration was signed since the start.
    var epochs: [InstanceIdentifier: EpochLedger] = [:]
    let maker = ConfigurationMaker()
    /// What the relay decides with, but for the instances, and the revision that it is of.
    var snapshot: (revision: UInt64, value: RelaySnapshot)?
    var authorities: Authorities {
        didSet {
            revision += 1
            let authorities = authorities
            accepted.withLock { $0 = authorities }
        }
    }
    /// The same, for the threads of requests.
    nonisolated let accepted: Lock<Authorities>
    var signer: StoredIdentity
    var server: StoredIdentity
    var tokenKeys: TokenKeys
    let clock: @Sendable () -> Date
    /// While other authorities or certificates of the gateway are written.
    var isKeepingIdentities = false
    /// Is given the data, so that it need not keep it: it is kept by the data.
    typealias Observer = @Sendable (isolated GatewayData, GatewayChange) -> Void
    private var observers: [Observer] = []
    /// At access keys, by source.
    var wrongTries = RateLimiter<[UInt8]>(.wrongTries)

    struct Collections: Sendable {
        let directory: StoreCollection<String, Directory>
        let instances: StoreCollection<String, InstanceRecord>
        let keys: StoreCollection<[UInt8], AccessKeyRecord>
        let settings: StoreCollection<String, GatewaySettings>
        let identities: StoreCollection<String, StoredIdentity>
        let authorities: StoreCollection<String, AuthorityRecord>
        let tokenKeys: StoreCollection<String, TokenKeyRecord>

        init(_ store: SecureStore) {
            directory = store.reservedCollection("gateway.directory", of: Directory.self)
            instances = store.reservedCollection("gateway.instances", of: InstanceRecord.self)
            keys = store.reservedCollection("gateway.keys", of: AccessKeyRecord.self, keyedBy: [UInt8].self)
            settings = store.reservedCollection("gateway.settings", of: GatewaySettings.self)
            identities = store.reservedCollection("gateway.identities", of: StoredIdentity.self)
            authorities = store.reservedCollection("gateway.authorities", of: AuthorityRecord.self)
            tokenKeys = store.reservedCollection("gateway.tokenKeys", of: TokenKeyRecord.self)
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
        let record = AuthorityRecord(present: try CertificateAuthority.create(name: host, now: now))
        let authority = try CertificateAuthority(record.present)
        let server = try authority.server(host: host, now: now)
        let signer = try authority.signer(generation: record.signers, now: now)
        let settings = GatewaySettings(
            name: host, controlPort: ControlAPI.defaultPort, relayPort: ControlAPI.defaultRelayPort)
        try await store.write { transaction in
            try transaction.set(record, for: "authorities", in: collections.authorities)
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
                try snapshot.value(for: "authorities", in: collections.authorities),
                try snapshot.value(for: "server", in: collections.identities),
                try snapshot.value(for: "signer", in: collections.identities),
                try snapshot.all(in: collections.tokenKeys)
            )
        }
        guard let settings = loaded.0, let directory = loaded.1, let authorities = loaded.3, let server = loaded.4,
            let signer = loaded.5
        else { throw GatewayError(.notInitialized, "There is no gateway here: `sallyport gateway init` makes one.") }
        self.settings = settings
        self.directory = directory
        let ready = try Authorities(authorities)
        self.authorities = ready
        accepted = Lock(ready)
        self.server = server
        self.signer = signer
        tokenKeys = TokenKeys(loaded.6.map(\.1))
        instances = Dictionary(loaded.2.map { ($0.1.name.instance, $0.1) }) { first, _ in first }
    }

    /// Closes the store. Observers hear of nothing more, and are let go of.
    package func close() {
        observers = []
        store.close()
    }

    /// The authority that is in force.
    var authority: CertificateAuthority { authorities.issuing }

    /// Calls `observer` after each change, on this actor, so that no later change overtakes this one.
    func onChange(_ observer: @escaping Observer) { observers.append(observer) }

    func tell(_ change: GatewayChange) {
        switch change {
        case .directory, .identities: revision += 1
        case .instance, .tokenKeys: break
        }
        for observer in observers { observer(self, change) }
    }
}

/// What changed, for event streams and relay.
enum GatewayChange: Sendable {
    /// Policy: every instance's configuration.
    case directory
    case instance(InstanceIdentifier)
    /// Authorities, signer or server certificate.
    case identities
    case tokenKeys
}
