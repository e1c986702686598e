internal import Foundation
internal import HashTreeCollections
internal import SallyportSecureStore
internal import SallyportWire

extension EmbeddedStore {
    func revise(
        _ known: Revised<Directory>, _ instances: InstanceTable, at now: Date, audit note: AuditNote,
        _ edit: @escaping @Sendable (Directory) throws -> DirectoryEdit
    ) async throws -> DirectoryRevision {
        try await audited { transaction, collections in
            let old = try transaction.directory(collections, known: known)
            let edited = try edit(old)
            let lost = old.grantsLost(in: edited.directory)
            let ending = try Self.holders(of: lost, transaction, collections).filter { $0.ended == nil }
            guard ending.isEmpty || edited.isConfirmed else {
                return AuditedChange(value: .unconfirmed(ending))
            }
            for record in ending {
                try transaction.keep(record.ended(under: edited.directory, at: now), collections)
            }
            try transaction.set(edited.directory, for: "directory", in: collections.directory)
            try Self.destroyKeys(of: lost, transaction, collections)
            let revision = try transaction.advance(collections, changing: ending.map(\.name.instance)) {
                $0.directory = $0.newest
            }
            return AuditedChange(
                value: .done(revision, edited), revision: revision,
                event: note.event(of: edited, from: old, ending: ending))
        }.value
    }

    private static func holders(
        of grants: Set<Grant>, _ transaction: WriteTransaction, _ collections: EmbeddedCollections
    ) throws -> [InstanceRecord] {
        try grants.flatMap { grant in
            try (transaction.value(for: grant.text, in: collections.holders) ?? []).map {
                try transaction.record($0, collections)
            }
        }
    }

    /// A used key's record stays, so that a later second use is told the reason of its refusal.
    private static func destroyKeys(
        of lost: Set<Grant>, _ transaction: WriteTransaction, _ collections: EmbeddedCollections
    ) throws {
        guard !lost.isEmpty else { return }
        for (digest, record) in try transaction.all(in: collections.keys) {
            guard record.use == nil, lost.contains(record.grant) else { continue }
            try transaction.remove(digest, from: collections.keys)
        }
    }

    func revise(
        audit note: AuditNote, _ edit: @escaping @Sendable (AuthorityRecord) throws -> AuthorityRecord?
    ) async throws -> Int64? {
        try await audited { transaction, collections in
            guard let old = try transaction.value(for: "authorities", in: collections.authorities) else {
                throw GatewayError(.internalFailure, "The data have no authority.")
            }
            guard let new = try edit(old) else {
                return AuditedChange(value: (), event: note.event(changed: false))
            }
            try transaction.set(new, for: "authorities", in: collections.authorities)
            let revision = try transaction.advance(collections) { $0.authorities = $0.newest }
            return AuditedChange(value: (), revision: revision, event: note.event())
        }.revision
    }

    func reviseRelays(
        audit note: AuditNote, _ edit: @escaping @Sendable (RelayTable) throws -> RelayTable?
    ) async throws -> Int64? {
        try await audited { transaction, collections in
            let old = try transaction.value(for: "relays", in: collections.relays) ?? RelayTable()
            guard let new = try edit(old), new != old else {
                return AuditedChange(value: (), event: note.event(changed: false))
            }
            if new.hasAdded(to: old) {
                try new.check(addedTo: old, beside: transaction.all(in: collections.gateways).map(\.1))
            }
            try transaction.set(new, for: "relays", in: collections.relays)
            let revision = try transaction.advance(collections) { $0.relays = $0.newest }
            return AuditedChange(value: (), revision: revision, event: note.event())
        }.revision
    }
}
