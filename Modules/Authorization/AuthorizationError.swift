public import SallyportBase
public import SallyportCore

/// Why activation or authorization failed.
public struct AuthorizationError: CodedError, Sendable {
    /// What failed. Two errors are equal if their codes are.
    public let code: Code
    /// The numeric result code; `none` if the failure has none.
    public let result: ResultCode
    /// A description for people. It contains no key, link, certificate or body.
    public let message: String
    /// The error that caused this one, such as the store's or the connection's; nil if there is none. For logs.
    public let underlying: (any Error)?
    /// The place in the library that made the error, for reports of faults.
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
    /// What went wrong. Later versions may add codes; handle those that you know and treat the others as failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case wrongApplication, invalidApplication, invalidLink, notActivated, alreadyActivated, authorityMismatch
            case unreachable, credentialsRefused, linkUsed, linkExpired, communicationFailed, invalidConfiguration
            case withdrawn, identityExpired, cancelled, store, provisioningFailed, versionNotEntitled
        }
        private let value: Value

        /// The store is activated for another application: nothing was changed or sent. Or the activation link is for
        /// another application, which can still use it.
        public static let wrongApplication = Code(value: .wrongApplication)
        /// An entitlement id or version has an invalid form.
        public static let invalidApplication = Code(value: .invalidApplication)
        /// The activation link does not have the form `sallyport://HOST:PORT/?ca=…&user=…&key=…`, or is longer than
        /// 2,048 bytes. Nothing was sent.
        public static let invalidLink = Code(value: .invalidLink)
        /// There is no identity yet: activate first.
        public static let notActivated = Code(value: .notActivated)
        /// The store has an identity already; another instance needs another store.
        public static let alreadyActivated = Code(value: .alreadyActivated)
        /// The gateway does not present the authority that the link names; the access key was not sent. Or its
        /// certificate is not from an authority that the app knows, for example after a rotation during which the app
        /// was off-line; then activate a new store.
        public static let authorityMismatch = Code(value: .authorityMismatch)
        /// The gateway cannot be reached. Retryable.
        public static let unreachable = Code(value: .unreachable)
        /// The gateway refuses user, access key or certificate.
        public static let credentialsRefused = Code(value: .credentialsRefused)
        /// The activation link was used before; each link activates one instance. Ask for a new link.
        public static let linkUsed = Code(value: .linkUsed)
        /// The activation link was not used within its 24 hours. Ask for a new link.
        public static let linkExpired = Code(value: .linkExpired)
        /// The user is not entitled to the app's version. The activation link can still be used, for another version or
        /// once the user is entitled to this one.
        public static let versionNotEntitled = Code(value: .versionNotEntitled)
        /// The gateway was reached, but the exchange failed. Retry with increasing pauses.
        public static let communicationFailed = Code(value: .communicationFailed)
        /// The gateway took the request for a certificate, and issued none that counts. It has to be looked after;
        /// trying again later may help.
        public static let provisioningFailed = Code(value: .provisioningFailed)
        /// The gateway's configuration fails verification, or is older than the known one.
        public static let invalidConfiguration = Code(value: .invalidConfiguration)
        /// The instance is blocked, locked, wiped or denied, or its lease is over; ``AuthorizationError/result`` says
        /// which.
        public static let withdrawn = Code(value: .withdrawn)
        /// The certificate expired too long ago to be renewed: activate a new store.
        public static let identityExpired = Code(value: .identityExpired)
        /// The task was cancelled.
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
        _ result: ResultCode, _ message: String = "Authorization is withdrawn.", fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> AuthorizationError {
        AuthorizationError(.withdrawn, result, message, fileID: fileID, line: line)
    }
}
