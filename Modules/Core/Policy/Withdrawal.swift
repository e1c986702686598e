/// How far a withdrawal goes. Each level does what the one before it does, and more.
///
/// This table is the only place that says what a code does: parts of an instance read it from an ``AccessChange`` and
/// compare no codes.
///
/// | level | ends what is open | drops passwords, tickets, session cookies, trust decisions | destroys keys and data |
/// |---|---|---|---|
/// | block | yes | no | no |
/// | lock | yes | yes | no |
/// | wipe | yes | yes | yes |
public enum WithdrawalLevel: Int, Sendable, Hashable, Comparable, CaseIterable {
    case block, lock, wipe

    /// Whether passwords, tickets, session cookies and trust decisions leave the memory of the process.
    public var dropsSecrets: Bool { self >= .lock }
    /// Whether the store's keys and data are destroyed, so that only a new activation helps.
    public var destroysData: Bool { self == .wipe }

    public static func < (left: WithdrawalLevel, right: WithdrawalLevel) -> Bool { left.rawValue < right.rawValue }
}

extension ResultCode {
    /// What a withdrawal with this code does. A number that this version does not know locks: that drops every secret
    /// and keeps the data.
    public var withdrawal: WithdrawalLevel {
        switch self {
        case .blocked: .block
        case .wiped, .appDenied: .wipe
        default: .lock
        }
    }
}
