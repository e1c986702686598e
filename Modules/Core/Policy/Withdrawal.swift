/// The level of a withdrawal. Each level includes the effects of the one before it.
///
/// This table alone defines the effect of a code: the parts of an instance read it from an ``AccessChange`` and do not
/// compare codes.
///
/// | level | ends what is open | drops passwords, tickets, session cookies, trust decisions | destroys keys and data |
/// |---|---|---|---|
/// | block | yes | no | no |
/// | lock | yes | yes | no |
/// | wipe | yes | yes | yes |
public enum WithdrawalLevel: Int, Sendable, Hashable, Comparable, CaseIterable {
    case block, lock, wipe

    /// Whether passwords, tickets, session cookies and trust decisions are removed from the memory of the process.
    public var dropsSecrets: Bool { self >= .lock }
    /// Whether the store's keys and data are destroyed, so that the app needs a new activation.
    public var destroysData: Bool { self == .wipe }

    public static func < (left: WithdrawalLevel, right: WithdrawalLevel) -> Bool { left.rawValue < right.rawValue }
}

extension ResultCode {
    /// The effect of a withdrawal with this code. An unknown code has the effect of `lock`: all secrets are dropped and
    /// the data is kept.
    public var withdrawal: WithdrawalLevel {
        switch self {
        case .blocked: .block
        case .wiped, .appDenied: .wipe
        default: .lock
        }
    }
}
