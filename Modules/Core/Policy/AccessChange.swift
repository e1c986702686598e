/// Whether an app may connect, at one moment.
public enum Access: Sendable, Hashable {
    /// `authorize()` has not succeeded in this process.
    case notAuthorized
    /// The app may connect as the rules of this revision say; each change of the rules has a greater number.
    case open(revision: UInt64)
    /// An administrator or the app itself withdrew the authorization, or its lease is over.
    case withdrawn(ResultCode)
}

/// One change of an app's access. What follows from it is computed here, so that no part decides it for itself.
public struct AccessChange: Sendable, Hashable {
    public let from: Access
    public let to: Access

    public init(from: Access, to: Access) {
        self.from = from
        self.to = to
    }

    /// The error with which everything that is open ends; nil where work may go on.
    public var ending: AccessDenied? {
        switch to {
        case .open: nil
        case .notAuthorized: AccessDenied(.notAuthorized)
        case .withdrawn(let code): AccessDenied(.withdrawn, code: code)
        }
    }

    /// Whether the rules are others than before, so that what is open must be judged by them.
    public var changesRules: Bool {
        guard case .open(let new) = to, case .open(let old) = from else { return false }
        return new != old
    }

    /// See ``WithdrawalLevel/dropsSecrets``.
    public var dropsSecrets: Bool { level?.dropsSecrets ?? false }

    /// See ``WithdrawalLevel/destroysData``.
    public var destroysData: Bool { level?.destroysData ?? false }

    private var level: WithdrawalLevel? {
        if case .withdrawn(let code) = to { code.withdrawal } else { nil }
    }
}

/// Keeps an observer of ``AccessGate/onAccessChange(_:)`` registered; the registration ends when this is released.
public final class AccessObservation: Sendable {
    private let onCancel: @Sendable () -> Void
    public init(onCancel: @escaping @Sendable () -> Void = {}) { self.onCancel = onCancel }
    deinit { onCancel() }
}
