internal import Foundation
internal import SallyportBase

/// What happened, before it has a place in a chain. A value.
///
/// Never holds a secret: what it is made from is chosen field by field, and texts that a command did not understand are
/// left out.
struct AuditEvent: Sendable, Hashable {
    /// The longest field, in bytes; a longer one is cut.
    static let fieldLimit = 4096

    let kind: AuditKind
    let time: Date
    private(set) var fields: [AuditField: String]

    init(_ kind: AuditKind, by actor: AuditActor, at time: Date, outcome: String = "") {
        (self.kind, self.time) = (kind, time)
        fields = [.kind: kind.rawValue, .actor: actor.name]
        if !outcome.isEmpty { fields[.outcome] = outcome }
        guard let user = actor.user else { return }
        fields[.uid] = "\(user.uid)"
        self[.account] = user.account
    }

    subscript(_ field: AuditField) -> String? {
        get { fields[field] }
        set { fields[field] = newValue.map(Self.cut) }
    }

    subscript(number field: AuditField) -> Int64? {
        get { fields[field].flatMap { Int64($0) } }
        set { fields[field] = newValue.map(String.init) }
    }

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > fieldLimit else { return text }
        var kept = text.prefix(fieldLimit)
        while kept.utf8.count > fieldLimit { kept.removeLast() }
        return String(kept)
    }

    func with(outcome: String) -> AuditEvent {
        var event = self
        event[.outcome] = outcome
        return event
    }

    /// The same for a command that failed. What was not understood is not repeated: it may be anything, a password too.
    func refused(with code: GatewayError.Code) -> AuditEvent {
        var event = self
        event[.outcome] = code.description
        guard code == .invalid else { return event }
        for field in AuditField.subjects { event[field] = nil }
        return event
    }
}

extension AuditField {
    /// What a command says of its own.
    fileprivate static let subjects: [AuditField] = [
        .user, .entitlement, .version, .target, .key, .detail,
    ]
}
