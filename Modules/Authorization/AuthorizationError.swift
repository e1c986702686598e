public import SallyportBase
public import SallyportCore

/// Why activation or authorization failed.
public struct AuthorizationError: CodedError, Sendable {
    public let code: Code
    /// The documented number; `none` where the failure has none.
    public let result: ResultCode
    /// What happened, for people. Holds no key, link, certificate or body.
    public let message: String
    public let underlying: (any Error)?
    public let location: ErrorLocation

    package init(
        _ code: Code, _ result: ResultCode, _ message: String, underlying: (any Error)? = nil,
        fileID: StaticString = #fileID, line: UInt = #line
    ) {
        self.code = code
        self.result = result
        self.message = message
        self.underlying = underlying
        location = ErrorLocation(fileID: fileID, line: line)
    }

    package init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.init(code, .none, message, underlying: underlying, fileID: fileID, line: line)
    }

    public var description: String {
        result == .none ? "\(code): \(message)" : "\(code), \(result): \(message)"
    }
}

extension AuthorizationError {
    /// What went wrong. New codes may come; match the ones that you handle.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case wrongApplication, invalidApplication, invalidLink, notActivated, alreadyActivated, authorityMismatch
            case unreachable, credentialsRefused, linkUsed, linkExpired, communicationFailed, invalidConfiguration
            case withdrawn, identityExpired, cancelled, store
        }
        private let value: Value

        /// The store is activated for another application. Nothing was changed or sent.
        public static let wrongApplication = Code(value: .wrongApplication)
        /// An entitlement id or version is not of its form.
        public static let invalidApplication = Code(value: .invalidApplication)
        public static let invalidLink = Code(value: .invalidLink)
        /// There is no identity yet: activate first.
        public static let notActivated = Code(value: .notActivated)
        /// The store has an identity already; another instance needs another store.
        public static let alreadyActivated = Code(value: .alreadyActivated)
        /// The gateway does not show the authority that the link names, and the access key was not sent. Or it has no
        /// certificate of an authority that the app knows, for example after a rotation during which the app was
        /// offline; then activate a new store.
        public static let authorityMismatch = Code(value: .authorityMismatch)
        /// The gateway cannot be reached. Retryable.
        public static let unreachable = Code(value: .unreachable)
        /// The gateway refuses user, access key or certificate.
        public static let credentialsRefused = Code(value: .credentialsRefused)
        /// The activation link was used before; each link activates one instance. Ask for a new link.
        public static let linkUsed = Code(value: .linkUsed)
        /// The activation link was not used within its 24 hours. Ask for a new link.
        public static let linkExpired = Code(value: .linkExpired)
        /// The gateway was reached, and the exchange failed. Retryable, with growing pauses.
        public static let communicationFailed = Code(value: .communicationFailed)
        /// The gateway's configuration does not verify, or is older than the one known.
        public static let invalidConfiguration = Code(value: .invalidConfiguration)
        /// The instance is blocked, locked, wiped or denied, or its lease is over; ``AuthorizationError/result`` says.
        public static let withdrawn = Code(value: .withdrawn)
        /// The certificate expired longer ago than it can be renewed: activate a new store.
        public static let identityExpired = Code(value: .identityExpired)
        public static let cancelled = Code(value: .cancelled)
        /// The store failed; the underlying error is the store's.
        public static let store = Code(value: .store)

        public var description: String { value.rawValue }
    }
}

extension AuthorizationError {
    static func cancelled(fileID: StaticString = #fileID, line: UInt = #line) -> AuthorizationError {
        AuthorizationError(
            .cancelled, "The task was cancelled.", underlying: CancellationError(), fileID: fileID, line: line)
    }

    static func store(_ error: any Error, fileID: StaticString = #fileID, line: UInt = #line) -> AuthorizationError {
        if let error = error as? AuthorizationError { return error }
        return AuthorizationError(
            .store, .securityError, "The store failed.", underlying: error, fileID: fileID, line: line)
    }

    static func withdrawn(
        _ result: ResultCode, fileID: StaticString = #fileID, line: UInt = #line
    ) -> AuthorizationError {
        AuthorizationError(.withdrawn, result, "Authorization is withdrawn.", fileID: fileID, line: line)
    }
}
