public import SallyportBase
internal import SallyportSecureStore

/// Why the gateway refused or failed. `inUse`, `limited`, `unreachable` and `store` may be temporary.
public struct GatewayError: CodedError, Sendable {
    /// What went wrong. Codes may be added.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case invalid, notFound, exists, needsConfirmation, unauthorized, forbidden, retired, locked, expired,
                limited, keyUsed, keyExpired, wrongApplication, versionNotEntitled
            case unsafePermissions, notInitialized, alreadyInitialized, inUse, cannotBind, fileSystem
            case unreachable, store, ended, cancelled, internalFailure
        }
        private let value: Value

        /// A value outside what is allowed; the message says which.
        public static let invalid = Code(value: .invalid)
        /// There is no user, application, instance or key of this name.
        public static let notFound = Code(value: .notFound)
        /// The name is in use already.
        public static let exists = Code(value: .exists)
        /// Instances would be wiped, and that was not confirmed.
        public static let needsConfirmation = Code(value: .needsConfirmation)
        /// There is neither a certificate nor a credential that is accepted.
        public static let unauthorized = Code(value: .unauthorized)
        /// Authenticated, but not allowed; or this process's user may not administer the gateway.
        public static let forbidden = Code(value: .forbidden)
        /// A certificate that a renewed one has replaced.
        public static let retired = Code(value: .retired)
        /// A replaced certificate asked for renewal: the store was copied.
        public static let locked = Code(value: .locked)
        /// A certificate, or another item with a lifetime, has expired.
        public static let expired = Code(value: .expired)
        /// An instance or a source has exceeded its rate.
        public static let limited = Code(value: .limited)
        /// The access key is right, but was used already.
        public static let keyUsed = Code(value: .keyUsed)
        /// The access key is right, but has expired.
        public static let keyExpired = Code(value: .keyExpired)
        /// The access key is right, but for another app than the one that is to be activated.
        public static let wrongApplication = Code(value: .wrongApplication)
        /// The access key is right, but its user is not entitled to the version of the app that is to be activated.
        public static let versionNotEntitled = Code(value: .versionNotEntitled)
        /// Other users can read the data folder.
        public static let unsafePermissions = Code(value: .unsafePermissions)
        /// The folder does not contain a gateway.
        public static let notInitialized = Code(value: .notInitialized)
        /// The folder contains a gateway already, or the store of something else.
        public static let alreadyInitialized = Code(value: .alreadyInitialized)
        /// Another process uses the data folder, or the same action is in progress.
        public static let inUse = Code(value: .inUse)
        /// A port is in use, or an address does not belong to this machine.
        public static let cannotBind = Code(value: .cannotBind)
        /// A directory or a socket could not be created.
        public static let fileSystem = Code(value: .fileSystem)
        /// What must answer does not: the running gateway at its administration socket, the fleet's database, or the
        /// gateway that a relay follows.
        public static let unreachable = Code(value: .unreachable)
        /// The store failed: the data folder's (``GatewayError/underlying`` is the `StoreError`) or the fleet's database.
        public static let store = Code(value: .store)
        /// The gateway was shut down.
        public static let ended = Code(value: .ended)
        /// The task was cancelled.
        public static let cancelled = Code(value: .cancelled)
        /// An unforeseen condition: an error without a code of its own, data of the gateway that lack a part, or an
        /// unexpected answer of the running gateway. The message names it; ``GatewayError/underlying`` has the cause if
        /// there is one.
        public static let internalFailure = Code(value: .internalFailure)

        public var description: String { value.rawValue }

        /// The code of this description; nil if there is none.
        package init?(_ description: String) {
            guard let value = Value(rawValue: description) else { return nil }
            self.value = value
        }

        private init(value: Value) { self.value = value }
    }

    /// What failed. Two errors are equal if their codes are.
    public let code: Code
    /// A description for the administrator or the client. It contains no secret.
    public let message: String
    /// The error that caused this one, such as the store's or the database's; nil if there is none.
    public let underlying: (any Error)?
    /// The place in the source that made the error, for reports of faults.
    public let location: ErrorLocation
    /// After how many seconds another try may have success; nil if that is not known.
    let retryAfter: Int?

    package init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil, retryAfter: Int? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.code = code
        self.retryAfter = retryAfter
        self.message = message
        self.underlying = underlying
        location = ErrorLocation(fileID: fileID, line: line)
    }
}

extension GatewayError {
    /// Converts an error of any of the gateway's parts.
    package init(_ error: any Error) {
        switch error {
        case let error as GatewayError: self = error
        case let error as StoreError:
            self.init(error.code == .cancelled ? .cancelled : .store, error.message, underlying: error)
        case is CancellationError: self.init(.cancelled, "The task was cancelled.", underlying: error)
        default: self.init(.internalFailure, "The gateway failed: \(error)", underlying: error)
        }
    }
}
