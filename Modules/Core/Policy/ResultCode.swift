/// Why an authorization failed or was withdrawn: numeric result codes with names.
public struct ResultCode: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
    public let rawValue: Int
    /// - Parameter rawValue: any number; one without a name here has the ``name`` `code`, and withdraws like a lock.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// No failure.
    public static let none = ResultCode(rawValue: 0)
    /// The secure store could not be unlocked; data is kept.
    public static let securityError = ResultCode(rawValue: -100)
    /// The activation link has an invalid form, or the certificate expired too long ago to be renewed: activate with
    /// another link, or a new store.
    public static let activationFailed = ResultCode(rawValue: -101)
    /// The gateway took the request for a certificate and issued none that counts.
    public static let provisioningFailed = ResultCode(rawValue: -102)
    /// An activated app needs its gateway to be authorized, and cannot reach it.
    public static let pushConnectionTimeout = ResultCode(rawValue: -103)
    /// The user is entitled to no version of the application; data is wiped.
    public static let appDenied = ResultCode(rawValue: -104)
    /// The user is entitled to another version only; locked, data is kept.
    public static let appVersionNotEntitled = ResultCode(rawValue: -105)
    /// Locked by the gateway, since the instance was not used for too long; data is kept.
    public static let idleLockout = ResultCode(rawValue: -300)
    /// Blocked by the administrator, by a local block, or because the lease is over; data is kept.
    public static let blocked = ResultCode(rawValue: -301)
    /// Wiped by the administrator; data and credentials are destroyed.
    public static let wiped = ResultCode(rawValue: -302)
    /// Locked by the administrator; data is kept.
    public static let remoteLockout = ResultCode(rawValue: -303)
    /// Locked by the gateway until the secret of the app's store is changed; data is kept.
    public static let passwordChangeRequired = ResultCode(rawValue: -304)
    /// The certificate request of an activation could not be made on this machine.
    public static let activationUnknown = ResultCode(rawValue: -600)
    /// The gateway cannot be reached; try again.
    public static let noNetwork = ResultCode(rawValue: -601)
    /// The gateway refused the user or the access key; others are needed.
    public static let credentialsFailed = ResultCode(rawValue: -602)
    /// Connected, but the exchange failed; try again later with increasing pauses.
    public static let serverCommunicationFailed = ResultCode(rawValue: -603)
    /// The store is activated, or the link was made, for another application than the one that runs.
    public static let appIntegrityFailed = ResultCode(rawValue: -606)

    /// The name of the constant, such as `blocked`; `code` for a number without a name.
    public var name: String {
        switch self {
        case .none: "none"
        case .securityError: "securityError"
        case .activationFailed: "activationFailed"
        case .provisioningFailed: "provisioningFailed"
        case .pushConnectionTimeout: "pushConnectionTimeout"
        case .appDenied: "appDenied"
        case .appVersionNotEntitled: "appVersionNotEntitled"
        case .idleLockout: "idleLockout"
        case .blocked: "blocked"
        case .wiped: "wiped"
        case .remoteLockout: "remoteLockout"
        case .passwordChangeRequired: "passwordChangeRequired"
        case .activationUnknown: "activationUnknown"
        case .noNetwork: "noNetwork"
        case .credentialsFailed: "credentialsFailed"
        case .serverCommunicationFailed: "serverCommunicationFailed"
        case .appIntegrityFailed: "appIntegrityFailed"
        default: "code"
        }
    }

    public var description: String { "\(name) (\(rawValue))" }
}
