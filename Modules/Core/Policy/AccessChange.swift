/// Whether an app may connect.
public enum Access: Sendable, Hashable {
    /// `authorize()` has not succeeded in this process.
    case notAuthorized
    /// The app may connect as the policy of this revision says. Each change of the policy's rules increases the
    /// revision.
    case open(revision: UInt64)
    /// An administrator or the app itself withdrew the authorization, or its lease has expired.
    case withdrawn(ResultCode)
}

/// One change of an app's access. Its consequences are computed here, so that all parts of an instance agree on them.
public struct AccessChange: Sendable, Hashable {
    /// The access before.
    public let from: Access
    /// The access now.
    public let to: Access

    public init(from: Access, to: Access) {
        self.from = from
        self.to = to
    }

    /// The error that ends all open exchanges and streams; nil if they may continue.
    public var ending: AccessDenied? {
        switch to {
        case .open: nil
        case .notAuthorized: AccessDenied(.notAuthorized)
        case .withdrawn(let code): AccessDenied(.withdrawn, code: code)
        }
    }

    /// Whether the rules differ from those before, so that open connections must be judged by the new ones.
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

/// Keeps an observer of ``AccessGate/onAccessChange(_:)`` registered. Releasing it ends the registration.
public final class AccessObservation: Sendable {
    private let onCancel: @Sendable () -> Void
    /// - Parameter onCancel: called once, when the last reference is released, on the thread that releases it.
    public init(onCancel: @escaping @Sendable () -> Void = {}) { self.onCancel = onCancel }
    deinit { onCancel() }
}
