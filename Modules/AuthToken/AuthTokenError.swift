public import SallyportBase
internal import SallyportCore

/// Why there is no token.
public struct AuthTokenError: CodedError, Sendable {
    /// The error domain to which ``Code/number`` belongs.
    public static let domain = "GDAuthTokenDomain"

    /// What failed. Two errors are equal if their codes are.
    public let code: Code
    /// A description for people. It contains no challenge, token or key.
    public let message: String
    /// The error that caused this one, such as that of the request to the gateway; nil if there is none.
    public let underlying: (any Error)?
    /// The place in the library that made the error, for reports of faults.
    public let location: ErrorLocation

    package init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.underlying = underlying
        location = ErrorLocation(fileID: fileID, line: line)
    }
}

extension AuthTokenError {
    /// What went wrong. Later versions may add codes; handle those that you know and treat the others as failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case retry, notSupported, notAuthorized, withdrawn, invalidChallenge, invalidServerName, invalidRequest
            case noDelegate, store, cancelled
        }
        private let value: Value

        /// -1: the gateway cannot be reached or failed, or too many tokens were asked for. The
        /// same request may succeed later.
        public static let retry = Code(value: .retry)
        /// -2: this gateway does not issue tokens.
        public static let notSupported = Code(value: .notSupported)
        /// `authorize()` has not succeeded. Nothing was sent.
        public static let notAuthorized = Code(value: .notAuthorized)
        /// Authorization is withdrawn; the underlying `AccessDenied` has the result code where it is known here.
        public static let withdrawn = Code(value: .withdrawn)
        /// A challenge is ASCII letters and digits, at most 256. Nothing was sent.
        public static let invalidChallenge = Code(value: .invalidChallenge)
        /// A server name is visible ASCII, at most 255 bytes. Nothing was sent.
        public static let invalidServerName = Code(value: .invalidServerName)
        /// A proof is for an `http` or `https` URL, and for a method.
        public static let invalidRequest = Code(value: .invalidRequest)
        /// The form with a delegate needs one. Nothing was sent.
        public static let noDelegate = Code(value: .noDelegate)
        /// The store of the instance's key failed; the underlying error is the store's.
        public static let store = Code(value: .store)
        /// The task was cancelled.
        public static let cancelled = Code(value: .cancelled)

        public var description: String { value.rawValue }

        /// The numeric error code; nil for codes that exist in this SDK only.
        public var number: Int? {
            switch self {
            case .retry: -1
            case .notSupported: -2
            default: nil
            }
        }
    }

    init(_ denied: AccessDenied, fileID: StaticString = #fileID, line: UInt = #line) {
        let code: Code = denied.reason == .notAuthorized ? .notAuthorized : .withdrawn
        self.init(code, "\(denied)", underlying: denied, fileID: fileID, line: line)
    }

    /// Converts the error of an exchange with the gateway.
    init(_ error: LoadError, fileID: StaticString = #fileID, line: UInt = #line) {
        if let denied = error.underlying as? AccessDenied {
            self.init(denied, fileID: fileID, line: line)
            return
        }
        self.init(
            error.code == .cancelled ? .cancelled : .retry, "The gateway gave no token.", underlying: error,
            fileID: fileID, line: line)
    }

    /// Converts the status of the gateway's refusal.
    init(status: Int, fileID: StaticString = #fileID, line: UInt = #line) {
        let code: Code =
            switch status {
            case 404, 405, 501: .notSupported
            case 403: .withdrawn
            default: .retry
            }
        self.init(code, "The gateway issued no token: status \(status).", fileID: fileID, line: line)
    }
}
