internal import Foundation
internal import HashTreeCollections
internal import SallyportWire

/// Where a gateway keeps what it would share with other gateways of a fleet: policy, instances, access keys and
/// authorities. What is a gateway's alone is in an ``OwnStore``.
///
/// A change that others must hear of has a revision. Revisions number these changes in the order in which they were
/// committed, over all kinds of records and without gaps. A ``GatewayData`` holds the state in memory, and follows the
/// revisions: nothing of the shared state enters its memory in another way, its own changes included.
///
/// The closures decide in the transaction, from records that no other transaction can change meanwhile. They are pure: a
/// store may call them again. If a closure throws, nothing is changed, and its error is thrown.
protocol GatewayStore: AuditStore {
    /// What changed after a revision, with the last value of each record; everything if it is nil.
    func changes(after revision: Int64?) async throws -> StoredChanges

    /// A signal after each change, at least; it ends when the store is closed. Only one task may follow it.
    func news() async -> AsyncStream<Void>

    /// Changes the directory, ends the instances that lose their right by it, and destroys the unused access keys of
    /// lost rights, in one transaction.
    ///
    /// - Parameters:
    ///   - known: the directory that the caller knows; it is given to `edit` if it is still the one in force.
    ///   - instances: those that the caller knows, of which none may be missing among those that lose their right.
    ///   - now: when the instances end.
    ///   - note: what the audit trail tells of the change; nothing if it is not confirmed.
    func revise(
        _ known: Revised<Directory>, _ instances: InstanceTable, at now: Date, audit note: AuditNote,
        _ edit: @escaping @Sendable (Directory) throws -> DirectoryEdit
    ) async throws -> DirectoryRevision

    /// Changes the authorities; nothing if `edit` returns nil.
    ///
    /// - Returns: the revision, nil if nothing was changed.
    func revise(
        audit note: AuditNote, _ edit: @escaping @Sendable (AuthorityRecord) throws -> AuthorityRecord?
    ) async throws -> Int64?

    /// Changes the relays, as ``revise(_:)`` does the authorities.
    ///
    /// - Throws: `exists` if a relay that is added has the name of a gateway.
    func reviseRelays(
        audit note: AuditNote, _ edit: @escaping @Sendable (RelayTable) throws -> RelayTable?
    ) async throws -> Int64?

    /// Whether other gateways may change what is in the store.
    var isShared: Bool { get }

    /// Asks the store for its newest revision now: word that it is there, commits, and was not put back.
    func confirm() async throws -> Int64

    /// Shows that the store commits, or did so seconds ago at most: so what is read of it now is all that there is.
    ///
    /// - Throws: if the store does not commit, since another one may have taken its place and know more.
    func vouch() async throws

    /// Why the store cannot be followed now; nil while it is.
    func trouble() async -> GatewayError?

    /// Changes an instance's record.
    ///
    /// - Parameter note: nil for what an instance reports of itself, which withdraws nothing.
    /// - Throws: `notFound` for an unknown instance; `internalFailure` if its withdrawal changes without a note.
    func change<Value: Sendable>(
        _ instance: InstanceIdentifier, audit note: AuditNote?,
        _ edit: @escaping @Sendable (inout InstanceRecord) throws -> Value
    ) async throws -> InstanceChange<Value>

    /// An epoch that no configuration of the instance has had: greater than every earlier one.
    ///
    /// - Parameters:
    ///   - least: the epoch is at least this.
    ///   - seen: the instance's last contact, which is stored if the record is written.
    func nextEpoch(
        of instance: InstanceIdentifier, atLeast least: Int64, seen: Date?
    ) async throws -> GrantedEpoch

    /// When instances were last heard of, as gateways of the fleet have noted it without a revision. What this gateway
    /// has read with their records may be older.
    func lastContacts() async throws -> [InstanceIdentifier: Date]

    /// The greatest epoch of all instances' configurations, 0 if there are none: none that was taken before the call is
    /// greater, also if the configuration is still being signed.
    func newestEpoch() async throws -> Int64

    /// Keeps a new access key under its digest.
    ///
    /// - Parameters:
    ///   - known: as for ``revise(_:_:at:audit:_:)``.
    ///   - make: returns the key's record; throws if its user has no right to the application under the directory in
    ///     force.
    func addKey(
        under digest: [UInt8], known: Revised<Directory>, audit note: AuditNote,
        _ make: @escaping @Sendable (Directory) throws -> AccessKeyRecord
    ) async throws

    func accessKey(under digest: [UInt8]) async throws -> AccessKeyRecord?

    func accessKeys() async throws -> [AccessKeyRecord]

    /// Uses up an access key and adds the instance that it made, in one transaction.
    ///
    /// - Parameters:
    ///   - known: as for ``revise(_:_:at:audit:_:)``.
    ///   - note: what the audit trail tells of a new instance.
    ///   - check: throws if the key's user has no right to what is enrolled under the directory in force.
    /// - Throws: what `check` throws; `unauthorized` if there is no such key any more, `keyUsed` if another public key has
    ///   used it.
    func consume(
        _ digest: [UInt8], for use: AccessKeyRecord.Use, by instance: InstanceRecord, known: Revised<Directory>,
        audit note: AuditNote, _ check: @escaping @Sendable (Directory, AccessKeyRecord) throws -> Void
    ) async throws -> Consumption

    /// Removes the access keys that `choice` names, given all keys.
    ///
    /// - Returns: how many were removed.
    func removeAccessKeys(
        audit note: AuditNote, _ choice: @escaping @Sendable ([AccessKeyRecord]) throws -> Set<AccessKeyIdentifier>
    ) async throws -> Int

    /// Enters the record of a gateway, or replaces it. The gateway counts as running from now on.
    ///
    /// - Returns: the revision; nil if the record is in the store as it is.
    /// - Throws: `invalid` if the fleet has as many gateways as it may have; `exists` if it is new here, or has moved, and a
    ///   relay has its name.
    func register(_ gateway: GatewayRecord, at now: Date) async throws -> Int64?

    /// Keeps when a gateway was there. Has no revision.
    ///
    /// - Returns: false if the store has no record of the gateway.
    func note(_ presence: GatewayPresence, of gateway: GatewayIdentifier) async throws -> Bool

    func gateways() async throws -> [ListedGateway]

    /// Removes a gateway's record.
    ///
    /// - Returns: the revision; nil if there is no such record.
    func remove(_ gateway: GatewayIdentifier, audit note: AuditNote) async throws -> Int64?

    /// What an administrator should know of the store; nil for nothing.
    func warning() async -> String?

    /// Ends ``news()``. Later calls throw.
    func close() async
}

extension GatewayStore {
    func warning() async -> String? { nil }

    /// Where there is no other gateway, there is nothing to be learned.
    func lastContacts() async throws -> [InstanceIdentifier: Date] { [:] }
}

/// A value and the revision that it came with.
struct Revised<Value: Sendable>: Sendable {
    var value: Value
    var revision: Int64
}

/// What changed up to a revision.
struct StoredChanges: Sendable {
    let revision: Int64
    /// What belongs to the revision; nil in a store that is not shared.
    var mark: FleetMark?
    /// Nil if it is unchanged, as are the authorities.
    var directory: Revised<Directory>?
    var authorities: Revised<AuthorityRecord>?
    var relays: Revised<RelayTable>?
    var instances: [InstanceRecord] = []
    /// All gateways; nil if none has changed.
    var gateways: Revised<[GatewayRecord]>?
}

/// A new directory, as an edit has made it.
struct DirectoryEdit: Sendable {
    let directory: Directory
    /// Whether instances may end by it.
    let isConfirmed: Bool
    /// A line for each change, if the administrator wants to know.
    var changes: [String] = []
}

enum DirectoryRevision: Sendable {
    /// With the revision, and the edit that was carried out.
    case done(Int64, DirectoryEdit)
    /// Nothing was changed: these instances would end, and that was not confirmed.
    case unconfirmed([InstanceRecord])
}

/// What became of a change of an instance's record.
struct InstanceChange<Value: Sendable>: Sendable {
    let record: InstanceRecord
    /// What the edit returned.
    let value: Value
    /// Nil if there is nothing that others must hear of.
    let revision: Int64?
}

/// An epoch for one configuration. It is durable: no later one is lower, whatever becomes of the gateway.
struct GrantedEpoch: Sendable {
    let epoch: Int64
    /// The configuration must contain at least what this revision contains, since an earlier one may already have been
    /// signed with it under a lower epoch.
    let revision: Int64
}

/// The result of the use of an access key.
enum Consumption: Sendable {
    case made(Int64)
    /// The same public key has used it before.
    case repeated(AccessKeyRecord.Use)
}
