internal import Crypto
internal import Foundation
internal import HashTreeCollections
internal import SallyportBase
internal import SallyportCore
internal import SallyportSecureStore
internal import SallyportWire
internal import X509

/// The state of a gateway in memory: directory, instances, keys, identities.
///
/// An actor, since all parts of the gateway share it. What the gateway may share with others lies in a ``GatewayStore``;
/// it enters this actor's memory by ``catchUp()`` only, one's own changes included.
package actor GatewayData {
    let store: any GatewayStore
    let own: OwnStore
    /// This gateway's chain in the audit trail.
    let accessChain: AuditChainName
    /// The revision of the store that the memory has reached.
    private(set) var followed: Int64 = 0
    /// The revisions of the store with which the directory, the authorities and the gateways came.
    private var directoryRevision: Int64 = 0
    private var authoritiesRevision: Int64 = 0
    private var gatewaysRevision: Int64 = 0
    /// Applies what is new in the store, one run at a time: the run that reads the store now, and the one that begins
    /// after it.
    private var running: Task<Void, any Error>?
    private var waiting: Task<Void, any Error>?
    /// Whether the run that waits reads everything.
    private var readsEverything = false
    /// Why the last run failed.
    private(set) var failure: GatewayError?
    private(set) var directory = Directory() { didSet { revision += 1 } }
    private(set) var relays = RelayTable() { didSet { revision += 1 } }
    private var relaysRevision: Int64 = 0
    /// Remembers the revision of the fleet's database that is in force.
    private let marks: FleetMarkKeeper
    /// What followers of the feed have still to hear.
    private var log = FeedLog()
    private(set) var instances = InstanceTable()
    var settings: GatewaySettings { didSet { revision += 1 } }
    /// Increases with each change of what instances share.
    private(set) var revision: UInt64 = 1
    let maker = ConfigurationMaker()
    let contacts = ContactLedger()
    /// The policy by which the relay decides, apart from the instances, and the revision for which it was made.
    var snapshot: (revision: UInt64, value: RelaySnapshot)?
    var versionChanges = RateLimiter<InstanceIdentifier>(.versions)
    private(set) var authorities: Authorities { didSet { revision += 1 } }
    private(set) var identities: OwnIdentities
    /// Of the fleet, this one included once it has listened.
    private(set) var gateways: [GatewayRecord] = [] { didSet { readyTokenKeys = makeReadyTokenKeys() } }
    /// Those that are silent. Known only while apps cannot be told of all relays.
    var silentGateways: Set<GatewayIdentifier> = [] {
        didSet { if silentGateways != oldValue { revision += 1 } }
    }
    var tokenKeys: TokenKeys { didSet { readyTokenKeys = makeReadyTokenKeys() } }
    private(set) var readyTokenKeys: ReadyTokenKeys
    /// The published state; kept up to date once it was asked for.
    private var current: CurrentState?
    /// The changes that event streams have still to report, and the signal that there are some.
    private var hints = ChangeHints()
    private var hinted: AsyncStream<Void>.Continuation?
    let clock: @Sendable () -> Date
    /// Receives the data as an argument, so that it needs no reference, which would be a cycle.
    typealias Observer = @Sendable (isolated GatewayData, GatewayChange) -> Void
    private var observers: [Observer] = []
    /// When the change that is being reported was committed, for metrics.
    private(set) var committed = ContinuousClock.now
    /// Counts wrong access keys by source.
    var wrongTries = RateLimiter<[UInt8]>(.wrongTries)
    /// Counts the changes of relays' ports.
    var relayPorts = RateLimiter<RelayIdentifier>(.relayPorts)

    /// Reads the whole state.
    init(_ store: any GatewayStore, own: OwnStore, clock: @escaping @Sendable () -> Date) async throws {
        guard let content = try own.content() else {
            throw GatewayError(.notInitialized, "There is no gateway here: `sallyport gateway init` creates one.")
        }
        let state = try await store.changes(after: nil)
        if let now = state.mark { try own.mark()?.check(isBefore: now) }
        guard let record = state.authorities?.value else {
            throw GatewayError(.notInitialized, "There is no authority here: `sallyport gateway init` creates one.")
        }
        (self.store, self.own, self.clock) = (store, own, clock)
        marks = FleetMarkKeeper(own)
        accessChain = .access(try await own.auditIdentity())
        settings = content.settings
        identities = content.identities
        tokenKeys = TokenKeys(content.tokenKeys)
        readyTokenKeys = ReadyTokenKeys(tokenKeys)
        authorities = try Authorities(record)
        try await apply(state)
    }

    /// Closes the store. Observers are not called any more, and are released.
    package func close() async {
        observers = []
        hinted?.finish()
        hinted = nil
        await marks.end()
        await store.close()
        own.close()
    }

    /// The authority in force.
    var authority: CertificateAuthority { authorities.issuing }
    var server: StoredIdentity { identities.server }
    var signer: StoredIdentity { identities.signer }

    /// Registers an observer that is called after each change, on this actor, so that no later change overtakes it.
    func onChange(_ observer: @escaping Observer) { observers.append(observer) }

    /// Publishes the present state, and then reports the changes.
    func tell(_ changes: GatewayChange...) { tell(changes) }

    private func tell(_ changes: [GatewayChange]) {
        guard !changes.isEmpty else { return }
        committed = .now
        if changes.contains(where: \.concernsAll) { revision += 1 }
        current?.update(state)
        for change in changes {
            for observer in observers { observer(self, change) }
            if hinted != nil { hints.note(change) }
        }
        if !hints.isEmpty { hinted?.yield() }
    }
}

// MARK: Following the store

extension GatewayData {
    /// The directory, as the store's transactions take it.
    var knownDirectory: Revised<Directory> { Revised(value: directory, revision: directoryRevision) }

    private func makeReadyTokenKeys() -> ReadyTokenKeys {
        ReadyTokenKeys(tokenKeys, besides: gateways.filter { $0.id != settings.id }.flatMap(\.tokenKeys))
    }

    /// Follows the store at least to a revision that is committed.
    ///
    /// - Throws: `store` if a read that has begun after the call does not have it: no later one is sure to.
    func catchUp(to revision: Int64) async throws {
        guard followed < revision else { return }
        // One that has begun may have it already.
        if let running { try await running.value }
        guard followed < revision else { return }
        try await catchUp()
        guard followed < revision else { return }
        throw GatewayError(
            .store,
            "The store is at revision \(followed) and was at \(revision) a moment ago. What is known stays in force.")
    }

    /// Puts into force what this gateway has committed.
    ///
    /// - Returns: why that is not possible now; nil if the change is in force. It is committed in either case, so the
    ///   command must not be answered as failed: the administrator would give it again.
    func enforce(_ revision: Int64) async -> GatewayError? {
        do { try await catchUp(to: revision) } catch { return GatewayError(error) }
        return nil
    }

    /// Applies every change that was committed in the store before this call.
    ///
    /// Is not cut short if the task is cancelled: what is committed must come into force.
    func catchUp() async throws { try await nextRun().value }

    /// As ``catchUp()``, before something is refused because it is not known here.
    ///
    /// - Throws: also if the store can be read, but does not commit: another one may know more.
    func catchUpForCertain() async throws {
        try await store.vouch()
        try await catchUp()
    }

    /// Reads the whole state again, for what instances have reported to other gateways, which has no revision.
    func refresh() async throws {
        let run = nextRun()
        readsEverything = true
        try await run.value
    }

    /// A run that has not begun yet. One that has may have read the store before what the caller waits for was
    /// committed.
    private func nextRun() -> Task<Void, any Error> {
        if let waiting { return waiting }
        let task = Task { [running] in
            _ = await running?.result
            try await run()
        }
        waiting = task
        return task
    }

    private func run() async throws {
        (running, waiting) = (waiting, nil)
        // Here, so that a task which awaits the result does not find a run that is over.
        defer { running = nil }
        let position = readsEverything ? nil : followed
        readsEverything = false
        do { try await apply(store.changes(after: position)) } catch {
            failure = GatewayError(error)
            throw error
        }
        failure = nil
    }

    /// Why the store cannot be followed now; nil while it is.
    func trouble() async -> GatewayError? {
        if let failure { return failure }
        return await store.trouble()
    }

    /// Puts changes into force together, once this gateway has the certificates that go with them.
    private func apply(_ changes: StoredChanges) async throws {
        var told: [GatewayChange] = []
        if let record = changes.authorities, record.revision > authoritiesRevision {
            let authorities = try Authorities(record.value)
            let identities = try await certified(by: authorities)
            (self.authorities, self.identities) = (authorities, identities)
            authoritiesRevision = record.revision
            told = [.identities, .directory]
        }
        told += note(changes.instances)
        let hasOtherUsers = changes.directory.map { $0.value.users != directory.users } ?? false
        if let directory = changes.directory, directory.revision > directoryRevision {
            (self.directory, directoryRevision) = (directory.value, directory.revision)
            if !told.contains(where: \.concernsAll) { told.append(.directory) }
        }
        if let change = note(changes.gateways) { told.append(change) }
        if let relays = changes.relays, relays.revision > relaysRevision {
            (self.relays, relaysRevision) = (relays.value, relays.revision)
            if !told.contains(where: \.concernsAll) { told.append(.directory) }
        }
        if changes.revision > followed {
            followed = changes.revision
            log.note(
                .init(
                    revision: followed, instances: changes.instances.map(\.name.instance),
                    isDirectory: changes.directory != nil, isUsers: hasOtherUsers,
                    isAuthorities: changes.authorities != nil || changes.gateways != nil))
        }
        tell(told)
        if let mark = changes.mark { await marks.keep(mark) }
    }

    /// - Returns: the change of which others must hear: apps if they are to ask others than before.
    private func note(_ new: Revised<[GatewayRecord]>?) -> GatewayChange? {
        guard let new, new.revision > gatewaysRevision else { return nil }
        let old = gateways
        (gateways, gatewaysRevision) = (new.value.sorted { $0.id.description < $1.id.description }, new.revision)
        let hasMoved = old.map { [$0.control, $0.relay] } != gateways.map { [$0.control, $0.relay] }
        return hasMoved ? .directory : .tokenKeys
    }

    /// Enters records that are as new as those in memory.
    ///
    /// - Returns: the changes of which others must hear.
    private func note(_ records: [InstanceRecord]) -> [GatewayChange] {
        records.compactMap { stored in
            var record = stored
            // A certificate for each instance would take much memory.
            record.renewal = nil
            let old = instances[record.name.instance]
            if let old, !record.isAsNew(as: old) { return nil }
            instances[record.name.instance] = record
            return old.map(record.isAnnounced(after:)) ?? true ? .instance(record.name.instance) : nil
        }
    }

    /// Enters the result of a change of an instance's record that this gateway has made.
    func settle<Value>(_ change: InstanceChange<Value>) async throws {
        if let revision = change.revision { return try await catchUp(to: revision) }
        // The record may also have a change of another gateway's, which is not followed yet.
        tell(note([change.record]))
    }
}

// MARK: The feed

extension GatewayData {
    /// What a follower that has reached `position` has still to hear; nil for nothing.
    ///
    /// - Parameter position: nil for a follower that has nothing yet.
    func feed(after position: Int64?) -> FeedUpdate? {
        if let position, position >= followed { return nil }
        let changes = position.flatMap { log.changes(after: $0) } ?? .everything
        var update = FeedUpdate(from: changes.isEverything ? nil : position, revision: followed)
        if changes.isDirectory { update.directory = directory.forRelays }
        if changes.isUsers { update.users = directory.usersForRelays }
        if changes.isAuthorities {
            update.authorities = FeedAuthorities(authorities)
            update.controls = controls
        }
        update.instances =
            changes.isEverything ? .all(instances) : .some(changes.instances.compactMap { instances[$0] })
        return update
    }
}

// MARK: Own certificates and keys

extension GatewayData {
    /// This gateway's certificates under new authorities, already stored; the present ones if they are of them.
    private func certified(by authorities: Authorities) async throws -> OwnIdentities {
        guard try !identities.are(of: authorities) else { return identities }
        let new = try OwnIdentities(host: settings.name, under: authorities, at: clock())
        try await own.keep(new)
        return new
    }

    /// Stores new certificates of this gateway's before they come into force: what a client has learned must not be
    /// taken back.
    func keep(_ new: OwnIdentities) async throws {
        try await own.keep(new)
        // Other authorities, or another generation of signers, may have come into force with certificates of their own
        // meanwhile. Those stay.
        guard try new.are(of: authorities) else { return try await own.keep(identities) }
        identities = new
        tell(.identities)
    }
}

// MARK: For code outside the actor

extension GatewayData {
    private var state: GatewayState {
        GatewayState(
            policy: relaySnapshot(), authorities: authorities.accepted, server: server, tokenKeys: readyTokenKeys,
            relays: relays)
    }

    /// The published state, kept up to date from here on.
    func currentState() -> CurrentState {
        if let current { return current }
        let made = CurrentState(state, contacts: contacts, clock: clock) { [weak self] in
            (try? await self?.catchUpForCertain()) != nil
        }
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

    var concernsAll: Bool {
        switch self {
        case .directory, .identities: true
        case .instance, .tokenKeys: false
        }
    }
}
