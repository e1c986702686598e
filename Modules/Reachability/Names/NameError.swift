public import SallyportBase
internal import SallyportCore

/// Why a name could not be looked up.
///
/// A name that does not exist is not an error: see ``NameAnswer/exists``.
public struct NameError: CodedError, Sendable {
    /// What failed. Two errors are equal if their codes are.
    public let code: Code
    /// A description for people.
    public let message: String
    /// The error that caused this one; nil if there is none.
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

    /// The numeric code; nil for ``Code/cancelled``, which has none.
    public var documentedNumber: Int? { code.number }
}

extension NameError {
    /// What went wrong. Later versions may add codes; handle those that you know and treat the others as failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case timeout, hostNotListed, networkError, parsingResponseError, internalError, parameterError
            case couldNotPerformService, cancelled
        }
        private let value: Value

        /// 100: no answer within the time limit. Retryable.
        public static let timeout = Code(value: .timeout)
        /// 101: the administrator's policy does not relay the name.
        public static let hostNotListed = Code(value: .hostNotListed)
        /// 102: the gateway cannot be reached, or the exchange with it failed. Retryable.
        public static let networkError = Code(value: .networkError)
        /// 103: the gateway's answer does not match the question.
        public static let parsingResponseError = Code(value: .parsingResponseError)
        /// 104: an internal error.
        public static let internalError = Code(value: .internalError)
        /// 105: the name is invalid in DNS, or is an address; or the time limit is invalid.
        public static let parameterError = Code(value: .parameterError)
        /// 500: the app is not authorized, there are too many look-ups, or the gateway's resolver failed.
        public static let couldNotPerformService = Code(value: .couldNotPerformService)
        /// The task was cancelled.
        public static let cancelled = Code(value: .cancelled)

        public var description: String { value.rawValue }

        var number: Int? {
            switch value {
            case .timeout: 100
            case .hostNotListed: 101
            case .networkError: 102
            case .parsingResponseError: 103
            case .internalError: 104
            case .parameterError: 105
            case .couldNotPerformService: 500
            case .cancelled: nil
            }
        }
    }
}

extension NameError {
    /// Converts the error of an exchange with the gateway.
    init(_ failure: LoadError) {
        switch failure.code {
        case .cancelled: self.init(.cancelled, "The task was cancelled.")
        case .idleTimeout, .resourceTimeout:
            self.init(.timeout, "The gateway did not answer in time.", underlying: failure)
        case .notAuthorized, .withdrawn: self.init(.couldNotPerformService, failure.message, underlying: failure)
        case .refusedByPolicy: self.init(.hostNotListed, failure.message, underlying: failure)
        case .protocolViolation, .responseTooLarge, .decodingFailed:
            self.init(.parsingResponseError, "The gateway's answer is not understood.", underlying: failure)
        case .internalFailure: self.init(.internalError, failure.message, underlying: failure)
        default: self.init(.networkError, "The exchange with the gateway failed.", underlying: failure)
        }
    }
}
