internal import Foundation
internal import SallyportSecureStore
internal import SallyportWire

extension EmbeddedStore {
    /// An edit that changes nothing needs no write, unless the audit trail tells of it.
    func change<Value: Sendable>(
        _ id: InstanceIdentifier, audit note: AuditNote?,
        _ edit: @escaping @Sendable (inout InstanceRecord) throws -> Value
    ) async throws -> InstanceChange<Value> {
        let newest = epochs[id]?.last
        if note?.isConditional ?? true, let same = try unchanged(id, newest, edit) { return same }
        return try await audited { transaction, collections -> AuditedChange<InstanceChange<Value>> in
            let stored = try transaction.record(id, collections)
            let (old, edited, value) = try Self.edited(stored, newest, edit)
            guard edited != old else {
                return AuditedChange(
                    value: InstanceChange(record: stored, value: value, revision: nil),
                    event: note?.event(changed: false))
            }
            let event = try edited.event(note, after: old)
            var record = edited
            record.epoch = stored.epoch
            let isAnnounced = record.isAnnounced(after: old)
            record.countUpdate(isAnnounced: isAnnounced)
            try transaction.keep(record, collections)
            let revision = try isAnnounced ? transaction.advance(collections, changing: [id]) : nil
            return AuditedChange(
                value: InstanceChange(record: record, value: value, revision: revision), revision: revision,
                event: event)
        }.value
    }

    private func unchanged<Value: Sendable>(
        _ id: InstanceIdentifier, _ newest: Int64?, _ edit: (inout InstanceRecord) throws -> Value
    ) throws -> InstanceChange<Value>? {
        guard let stored = try store.read({ try $0.value(for: id.description, in: collections.instances) }) else {
            throw InstanceRecord.unknown(id)
        }
        let (old, edited, value) = try Self.edited(stored, newest, edit)
        return edited == old ? InstanceChange(record: stored, value: value, revision: nil) : nil
    }

    /// The edit sees the newest epoch that was signed. In the store, the record has the end of the reserve.
    private static func edited<Value>(
        _ stored: InstanceRecord, _ newest: Int64?, _ edit: (inout InstanceRecord) throws -> Value
    ) throws -> (old: InstanceRecord, new: InstanceRecord, value: Value) {
        var old = stored
        old.epoch = newest ?? stored.epoch
        var new = old
        let value = try edit(&new)
        return (old, new, value)
    }

    /// Writes only if the reserve in the store is used up.
    func nextEpoch(of id: InstanceIdentifier, atLeast least: Int64, seen: Date?) async throws -> GrantedEpoch {
        var ledger = try epochs[id] ?? EpochLedger(kept: keptEpoch(of: id))
        let epoch = ledger.next(at: least)
        epochs[id] = ledger
        if let reservation = ledger.reservation(for: epoch) {
            _ = try await write { transaction, collections in
                var record = try transaction.record(id, collections)
                record.epoch = max(record.epoch, reservation)
                record.lastSeen = seen ?? record.lastSeen
                try transaction.keep(record, collections)
                return ((), nil)
            }
            // Only once it is durable: of two simultaneous calls, each waits for a write that covers its own epoch.
            epochs[id]?.keep(reservation)
        }
        return GrantedEpoch(epoch: epoch, revision: newest)
    }

    private func keptEpoch(of id: InstanceIdentifier) throws -> Int64 {
        guard let record = try store.read({ try $0.value(for: id.description, in: collections.instances) }) else {
            throw InstanceRecord.unknown(id)
        }
        return record.epoch
    }

    func newestEpoch() throws -> Int64 {
        var newest: Int64 = 0
        try store.read { snapshot in
            try snapshot.forEach(in: collections.instances) { _, record in
                newest = max(newest, epochs[record.name.instance]?.last ?? record.epoch)
                return true
            }
        }
        return newest
    }
}
