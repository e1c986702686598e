internal import Crypto
internal import Foundation
internal import SallyportBase
internal import SallyportCore
package import SallyportSecureStore
internal import SallyportWire
internal import X509

/// The state of a gateway: directory, instances, keys, identities. Only this actor writes the gateway's store.
///
/// An actor, so that each change is one transaction and each of two uses of one access key sees the other.
package actor GatewayData {
    let store: SecureStore
    let collections: Collections
    var directory: Directory { didSet { revision += 1 } }
    var instances: [InstanceIdentifier: InstanceRecord]
    var settings: GatewaySettings { didSet { revision += 1 } }
    /// Increases with each change of what instances share.
    private(set) var revision: UInt64 = 1
    /// The epochs of the instances whose configuration was signed since the start.
    var epochs: [InstanceIdentifier: EpochLedger] = [:]
    let maker = ConfigurationMaker()
    let contacts = ContactLedger()
    /// The policy by which the relay decides, apart from the instances, and the revision for which it was made.
    var snapshot: (revision: UInt64, value: RelaySnapshot)?
    var authorities: Authorities { didSet { revision += 1 } }
    var signer: StoredIdentity
    var server: StoredIdentity
    var tokenKeys: TokenKeys { didSet { readyTokenKeys = ReadyTokenKeys(tokenKeys) } }
    private(set) var readyTokenKeys: ReadyTokenKeys
    /// The published state; kept up to date once it was asked for.
    private var current: CurrentState?
    /// The changes that event streams have still to report, and the signal that there are some.
    private var hints = ChangeHints()
    private var hinted: AsyncStream<Void>.Continuation?
    let clock: @Sendable () -> Date
    /// Whether new authorities or certificates of the gateway are being written.
    var isKeepingIdentities = false
    /// Receives the data as an argument, so that it needs no reference, which would be a cycle.
    typealias Observer = @Sendable (isolated GatewayData, GatewayChange) -> Void
    private var observers: [Observer] = []
    /// When the change that is being reported was committed, for metrics.
    private(set) var committed = ContinuousClock.now
    /// Counts wrong access keys by source.
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

    /// Creates the data of a new gateway in an empty store: its authority, its certificates, and an empty directory that
    /// denies everything.
    package static func initialize(_ store: SecureStore, name: String) async throws {
        let collections = Collections(store)
        guard let host = (try? Host(name))?.bareText else {
            throw GatewayError(
                .invalid, "A gateway's name is the host name by which apps reach it, which '\(name)' is not.")
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
        else { throw GatewayError(.notInitialized, "There is no gateway here: `sallyport gateway init` creates one.") }
        self.settings = settings
        self.directory = directory
        self.authorities = try Authorities(authorities)
        self.server = server
        self.signer = signer
        tokenKeys = TokenKeys(loaded.6.map(\.1))
        readyTokenKeys = ReadyTokenKeys(tokenKeys)
        instances = Dictionary(loaded.2.map { ($0.1.name.instance, $0.1) }) { first, _ in first }
    }

    /// Closes the store. Observers are not called any more, and are released.
    package func close() {
        observers = []
        hinted?.finish()
        hinted = nil
        store.close()
    }

    /// The authority in force.
    var authority: CertificateAuthority { authorities.issuing }

    /// Registers an observer that is called after each change, on this actor, so that no later change overtakes it.
    func onChange(_ observer: @escaping Observer) { observers.append(observer) }

    /// Publishes the present state, and then reports the change.
    func tell(_ change: GatewayChange) {
        committed = .now
        switch change {
        case .directory, .identities: revision += 1
        case .instance, .tokenKeys: break
        }
        current?.update(state)
        for observer in observers { observer(self, change) }
        guard let hinted else { return }
        hints.note(change)
        if !hints.isEmpty { hinted.yield() }
    }
}

// MARK: For code outside the actor

extension GatewayData {
    private var state: GatewayState {
        GatewayState(
            policy: relaySnapshot(), authorities: authorities, server: server, tokenKeys: readyTokenKeys)
    }

    /// The published state, kept up to date from here on.
    func currentState() -> CurrentState {
        if let current { return current }
        let made = CurrentState(state, contacts: contacts, clock: clock)
        current = made
        return made
    }

    /// A signal each time that ``takeHints()`` has something; ends with ``close()``. Only one task may follow it.
    func followHints() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        hinted = continuation
        return stream
    }

    /// The instances with changes since the last call.
    func takeHints() -> ChangeHints {
        defer { hints = ChangeHints() }
        return hints
    }
}

/// A change, for event streams and relay.
enum GatewayChange: Sendable {
    /// Policy: every instance's configuration changes.
    case directory
    case instance(InstanceIdentifier)
    /// The authorities, or the signer's or server's certificate.
    case identities
    case tokenKeys
}
