internal import Foundation
internal import SallyportWire

/// What a change of a store writes into the audit trail, in the transaction of the change.
///
/// Each operation of a ``GatewayStore`` that an administrator's act, an activation or a renewal leads to takes one, so that
/// none is possible without an entry.
struct AuditNote: Sendable {
    /// The most instances that an entry names of those that ended.
    static let endedLimit = 100

    private var event: AuditEvent

    init(_ event: AuditEvent) { self.event = event }

    /// An act of the gateway by itself.
    static func maintenance(_ action: String, at time: Date) -> AuditNote {
        var event = AuditEvent(.maintenance, by: .gateway, at: time)
        event[.action] = action
        return AuditNote(event)
    }

    /// The same act with another field.
    func with(_ field: AuditField, _ value: String?) -> AuditNote {
        var note = self
        note.event[field] = value
        return note
    }

    /// Whether there is no entry if nothing changes that the note is about.
    var isConditional: Bool { event.kind == .maintenance || event.kind == .lock }

    /// The instance concerned, and whose it is.
    func owned(by record: InstanceRecord?) -> AuditNote {
        guard let record else { return self }
        return with(.instance, record.name.instance.description).with(.user, record.user)
            .with(.entitlement, record.name.entitlement.description)
    }

    /// The entry of the act once it is decided; nil if there is nothing to tell: a gateway by itself has changed
    /// nothing.
    func event(
        changed: Bool = true, ended: [InstanceRecord] = [], lines: [String] = [], count: Int? = nil
    ) -> AuditEvent? {
        guard changed || !isConditional else { return nil }
        var event = event.with(outcome: changed ? "done" : "unchanged")
        if let count { event[number: .count] = Int64(count) }
        if !lines.isEmpty { event[.detail] = lines.joined(separator: "\n") }
        if !ended.isEmpty {
            event[number: .count] = Int64(ended.count)
            event[.ended] = ended.prefix(Self.endedLimit).map(\.name.instance.description).joined(separator: " ")
        }
        return event
    }
}

extension AuditNote {
    /// The entry of a change of the directory.
    func event(of edit: DirectoryEdit, from old: Directory, ending: [InstanceRecord]) -> AuditEvent? {
        event(changed: edit.directory != old, ended: ending, lines: edit.changes)
    }
}

extension InstanceRecord {
    /// The entry of a change that led to this record.
    ///
    /// - Throws: `internalFailure` if a withdrawal changes, or a certificate is issued, without an entry.
    func event(_ note: AuditNote?, after old: InstanceRecord) throws(GatewayError) -> AuditEvent? {
        if let note { return note.event(changed: !note.isConditional || withdrawals != old.withdrawals) }
        guard withdrawals == old.withdrawals, lockReason == old.lockReason, ended == old.ended,
            renewed == nil || renewed == old.renewed
        else { throw GatewayError(.internalFailure, "An instance's access is not changed without an entry.") }
        return nil
    }
}
