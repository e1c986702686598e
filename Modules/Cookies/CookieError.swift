public import SallyportBase
internal import SallyportCore

/// Why a call on a jar was refused or failed. A load that meets such a failure ends with a `LoadError`.
public struct CookieError: CodedError, Sendable {
    /// What failed. Two errors are equal if their codes are.
    public let code: Code
    /// A description for people. It contains no name and no value of a cookie.
    public let message: String
    /// The error that caused this one, such as the store's or an `AccessDenied`; nil if there is none.
    public let underlying: (any Error)?
    /// The place in the library that made the error, for reports of faults.
    public let location: ErrorLocation

    init(
        _ code: Code, _ message: String, underlying: (any Error)? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        self.code = code
        self.message = message
        self.underlying = underlying
        location = ErrorLocation(fileID: fileID, line: line)
    }
}

extension CookieError {
    /// What went wrong. Later versions may add codes; handle those that you know and treat the others as failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case invalidCookie, invalidFile, invalidName, tooLarge, notAuthorized, withdrawn, store
        }
        private let value: Value

        /// No server could set such a cookie; the message says which rule it breaks.
        public static let invalidCookie = Code(value: .invalidCookie)
        /// The imported data is not a cookie file; the message names the line or entry. No cookie was imported.
        public static let invalidFile = Code(value: .invalidFile)
        /// A jar's name has 1 to ``CookieJar/maximumNameLength`` bytes.
        public static let invalidName = Code(value: .invalidName)
        /// The imported data is too long, or has too many cookies.
        public static let tooLarge = Code(value: .tooLarge)
        /// `authorize()` has not succeeded.
        public static let notAuthorized = Code(value: .notAuthorized)
        /// Authorization is withdrawn; the underlying `AccessDenied` has the result code.
        public static let withdrawn = Code(value: .withdrawn)
        /// The store cannot be read or written; the underlying error says why. The cookies in memory include the
        /// change, which is written together with the next one.
        public static let store = Code(value: .store)

        public var description: String { value.rawValue }
    }

    init(_ denied: AccessDenied, fileID: StaticString = #fileID, line: UInt = #line) {
        self.init(
            denied.reason == .notAuthorized ? .notAuthorized : .withdrawn, "\(denied)", underlying: denied,
            fileID: fileID, line: line)
    }
}
