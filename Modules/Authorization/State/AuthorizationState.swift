public import SallyportCore

/// Whether the app may use its store and secure communication.
public enum AuthorizationState: Sendable, Hashable, CustomStringConvertible {
    /// The stage of the authorization.
    public enum Stage: String, Sendable, Hashable {
        case contactingGateway, enrolling, renewingIdentity, fetchingConfiguration
    }

    case notAuthorized
    case authorizing(Stage)
    case authorized
    /// Blocked or locked by the administrator, locked by the app, or the lease is over; data is kept.
    case locked(ResultCode)
    /// Wiped or denied by the administrator; data is destroyed, and a new activation is needed.
    case wiped(ResultCode)

    /// `notAuthorized`, `authorizing`, `authorized`, `locked` or `wiped`.
    public var name: String {
        switch self {
        case .notAuthorized: "notAuthorized"
        case .authorizing: "authorizing"
        case .authorized: "authorized"
        case .locked: "locked"
        case .wiped: "wiped"
        }
    }

    /// Why the app is not authorized; `none` if there is no reason with a number.
    public var code: ResultCode {
        switch self {
        case .locked(let code), .wiped(let code): code
        default: .none
        }
    }

    public var description: String { code == .none ? name : "\(name), \(code)" }
}
