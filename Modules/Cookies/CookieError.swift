public import SallyportBase
internal import SallyportCore

/// Why a jar refused or failed, where the app calls it. A load that meets such a failure ends with a `LoadError`.
public struct CookieError: CodedError, Sendable {
    public let code: Code
    /// What happened, for people. Holds no name and no value of a cookie.
    public let message: String
    public let underlying: (any Error)?
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
    /// What went wrong. New codes may come; match the ones that you handle.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case invalidCookie, invalidFile, invalidName, tooLarge, notAuthorized, withdrawn, store
        }
        private let value: Value

        /// The cookie is none that a server could have set; the message says which rule it breaks.
        public static let invalidCookie = Code(value: .invalidCookie)
        /// What is imported is no cookie file; the message says in which line or entry. Nothing of it was taken.
        public static let invalidFile = Code(value: .invalidFile)
        /// A jar's name has 1 to ``CookieJar/maximumNameLength`` bytes.
        public static let invalidName = Code(value: .invalidName)
        /// What is imported is longer, or has more cookies, than is taken at once.
        public static let tooLarge = Code(value: .tooLarge)
        /// `authorize()` has not succeeded.
        public static let notAuthorized = Code(value: .notAuthorized)
        /// Authorization is withdrawn; the underlying `AccessDenied` has the documented code.
        public static let withdrawn = Code(value: .withdrawn)
        /// The store cannot be read or written; the underlying error says why. The cookies in memory are as they were
        /// told to be, and are written with the next change.
        public static let store = Code(value: .store)

        public var description: String { value.rawValue }
    }

    init(_ denied: AccessDenied, fileID: StaticString = #fileID, line: UInt = #line) {
        self.init(
            denied.reason == .notAuthorized ? .notAuthorized : .withdrawn, "\(denied)", underlying: denied,
            fileID: fileID, line: line)
    }
}
