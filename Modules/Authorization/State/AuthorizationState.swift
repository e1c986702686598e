public import SallyportCore

/// Whether the app may use its store and secure communication.
public enum AuthorizationState: Sendable, Hashable, CustomStringConvertible {
    /// The stage of the authorization. An activation passes `contactingGateway`, while it fetches the gateway's
    /// authority, and `enrolling`, while it obtains the certificate; then, like the first authorization, it passes
    /// `fetchingConfiguration`. `renewingIdentity` is reserved: a renewal leaves the state as it is.
    public enum Stage: String, Sendable, Hashable {
        case contactingGateway, enrolling, renewingIdentity, fetchingConfiguration
    }

    /// ``Authorization/authorize()`` has not succeeded in this process, and the stored configuration withdraws nothing.
    case notAuthorized
    /// An activation or the first authorization goes on; nothing may connect yet. No event tells of it.
    case authorizing(Stage)
    /// The app may use its store, and connect as the configuration says.
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
