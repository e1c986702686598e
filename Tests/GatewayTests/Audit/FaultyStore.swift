import Foundation
import HashTreeCollections
import SallyportBase
import SallyportWire

@testable import SallyportGateway

/// A store that fails, or does not answer, as a test says.
final class FaultyStore: GatewayStore {
    enum Fault: Sendable {
        /// Nothing is written.
        case fails
        /// The store can be read, as it was, and commits nothing, like a database that was cut off from its standbys.
        case isCutOff
        /// A change is written, and the answer to it is lost.
        case doesNotAnswer
    }

    /// What is asked for changes, and whether it is told.
    private struct Reading {
        var positions: [Int64?] = []
        var isHeld = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// Shared stores have such faults.
    let isShared = true
    private let store: any GatewayStore
    private let fault = Lock<Fault?>(nil)
    private let reading = Lock(Reading())

    init(_ store: any GatewayStore) { self.store = store }

    func set(_ fault: Fault?) { self.fault.withLock { $0 = fault } }

    private let isLastRevision = Lock(false)

    /// The store fails once it has committed the next change of the authorities: as if the gateway ended then.
    func failAfterRevision() { isLastRevision.withLock { $0 = true } }

    /// From now on, changes that were read are told only at ``release()``.
    func hold() { reading.withLock { $0.isHeld = true } }

    func release() {
        let waiters = reading.withLock { state -> [CheckedContinuation<Void, Never>] in
            defer { state.waiters = [] }
            state.isHeld = false
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    private let interruption = Lock<(@Sendable () async throws -> Void)?>(nil)

    /// Has something happen before the next read of entries.
    func interrupt(_ body: @escaping @Sendable () async throws -> Void) { interruption.withLock { $0 = body } }

    /// After which revisions changes were read, in order.
    var positions: [Int64?] { reading.withLock { $0.positions } }

    private static let failure = GatewayError(.store, "The store fails on purpose.")

    func append(_ entries: [AuditEntry], of chain: AuditChainName, after head: AuditHead) async throws -> Bool {
        switch fault.withLock({ $0 }) {
        case .fails, .isCutOff: throw Self.failure
        case .doesNotAnswer:
            _ = try await store.append(entries, of: chain, after: head)
            throw Self.failure
        case nil: return try await store.append(entries, of: chain, after: head)
        }
    }

    func append(_ event: AuditEvent) async throws {
        guard fault.withLock({ $0 }) == nil else { throw Self.failure }
        try await store.append(event)
    }

    func auditHeads() async throws -> [AuditChainName: AuditHead] { try await store.auditHeads() }

    func auditRows(
        of chain: AuditChainName, after number: Int64, through last: Int64, limit: Int
    ) async throws -> [AuditRow] {
        let interruption = interruption.withLock { body -> (@Sendable () async throws -> Void)? in
            defer { body = nil }
            return body
        }
        try await interruption?()
        return try await store.auditRows(of: chain, after: number, through: last, limit: limit)
    }

    func newestCheckpoint() async throws -> StoredCheckpoint? { try await store.newestCheckpoint() }

    func keep(
        _ checkpoint: StoredCheckpoint, startingAfter starts: [AuditChainName: Int64]
    ) async throws -> Bool {
        try await store.keep(checkpoint, startingAfter: starts)
    }

    func audited() async -> AsyncStream<AuditEntry> { await store.audited() }

    func changes(after revision: Int64?) async throws -> StoredChanges {
        let fault = fault.withLock { $0 }
        if fault == .isCutOff, let revision { return StoredChanges(revision: revision) }
        guard fault == nil else { throw Self.failure }
        let changes = try await store.changes(after: revision)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isHeld = reading.withLock { state -> Bool in
                state.positions.append(revision)
                if state.isHeld { state.waiters.append(continuation) }
                return state.isHeld
            }
            if !isHeld { continuation.resume() }
        }
        return changes
    }

    func trouble() async -> GatewayError? { await store.trouble() }

    func news() async -> AsyncStream<Void> { await store.news() }

    func revise(
        _ known: Revised<Directory>, _ instances: InstanceTable, at now: Date, audit note: AuditNote,
        _ edit: @escaping @Sendable (Directory) throws -> DirectoryEdit
    ) async throws -> DirectoryRevision {
        try await store.revise(known, instances, at: now, audit: note, edit)
    }

    func revise(
        audit note: AuditNote, _ edit: @escaping @Sendable (AuthorityRecord) throws -> AuthorityRecord?
    ) async throws -> Int64? {
        let revision = try await store.revise(audit: note, edit)
        if isLastRevision.withLock({ $0 }) { set(.fails) }
        return revision
    }

    private let refusals = Lock<Int?>(nil)

    /// From now on, changes of instances' records are refused, or are taken again.
    func refuseChanges(_ isRefused: Bool) { refusals.withLock { $0 = isRefused ? 0 : nil } }

    /// How many changes of instances' records were refused since ``refuseChanges(_:)``.
    var refusedChanges: Int { refusals.withLock { $0 ?? 0 } }

    func change<Value: Sendable>(
        _ instance: InstanceIdentifier, audit note: AuditNote?,
        _ edit: @escaping @Sendable (inout InstanceRecord) throws -> Value
    ) async throws -> InstanceChange<Value> {
        let isRefused = refusals.withLock { count -> Bool in
            count = count.map { $0 + 1 }
            return count != nil
        }
        guard !isRefused else { throw Self.failure }
        return try await store.change(instance, audit: note, edit)
    }

    func nextEpoch(
        of instance: InstanceIdentifier, atLeast least: Int64, seen: Date?
    ) async throws -> GrantedEpoch {
        try await store.nextEpoch(of: instance, atLeast: least, seen: seen)
    }

    func lastContacts() async throws -> [InstanceIdentifier: Date] {
        guard fault.withLock({ $0 }) == nil else { throw Self.failure }
        return try await store.lastContacts()
    }

    func newestEpoch() async throws -> Int64 {
        guard fault.withLock({ $0 }) == nil else { throw Self.failure }
        return try await store.newestEpoch()
    }

    func addKey(
        under digest: [UInt8], known: Revised<Directory>, audit note: AuditNote,
        _ make: @escaping @Sendable (Directory) throws -> AccessKeyRecord
    ) async throws {
        try await store.addKey(under: digest, known: known, audit: note, make)
    }

    func accessKey(under digest: [UInt8]) async throws -> AccessKeyRecord? {
        guard fault.withLock({ $0 }) == nil else { throw Self.failure }
        return try await store.accessKey(under: digest)
    }

    func accessKeys() async throws -> [AccessKeyRecord] { try await store.accessKeys() }

    func consume(
        _ digest: [UInt8], for use: AccessKeyRecord.Use, by instance: InstanceRecord, known: Revised<Directory>,
        audit note: AuditNote, _ check: @escaping @Sendable (Directory, AccessKeyRecord) throws -> Void
    ) async throws -> Consumption {
        try await store.consume(digest, for: use, by: instance, known: known, audit: note, check)
    }

    func removeAccessKeys(
        audit note: AuditNote, _ choice: @escaping @Sendable ([AccessKeyRecord]) throws -> Set<AccessKeyIdentifier>
    ) async throws -> Int {
        guard fault.withLock({ $0 }) == nil else { throw Self.failure }
        return try await store.removeAccessKeys(audit: note, choice)
    }

    func register(_ gateway: GatewayRecord, at now: Date) async throws -> Int64? {
        try await store.register(gateway, at: now)
    }

    func note(_ presence: GatewayPresence, of gateway: GatewayIdentifier) async throws -> Bool {
        try await store.note(presence, of: gateway)
    }

    func reviseRelays(
        audit note: AuditNote, _ edit: @escaping @Sendable (RelayTable) throws -> RelayTable?
    ) async throws -> Int64? {
        guard fault.withLock({ $0 }) == nil else { throw Self.failure }
        return try await store.reviseRelays(audit: note, edit)
    }

    func confirm() async throws -> Int64 {
        guard fault.withLock({ $0 }) == nil else { throw Self.failure }
        return try await store.confirm()
    }

    func vouch() async throws {
        guard fault.withLock({ $0 }) == nil else { throw Self.failure }
        try await store.vouch()
    }

    func gateways() async throws -> [ListedGateway] { try await store.gateways() }

    func remove(_ gateway: GatewayIdentifier, audit note: AuditNote) async throws -> Int64? {
        try await store.remove(gateway, audit: note)
    }

    func warning() async -> String? { await store.warning() }

    func close() async { await store.close() }
}

extension DataFixture {
    /// Another gateway on the same data, whose store fails, or does not answer, as a test says.
    func faulty() async throws -> (store: FaultyStore, data: GatewayData) {
        let faulty = FaultyStore(await data.store)
        return (faulty, try await GatewayData(faulty, own: OwnStore(store)) { Date() })
    }
}
