public import SallyportBase
internal import SallyportCore

/// Why a cassette cannot replay or record. A load that fails because of it throws a `LoadError` with the code
/// `handlerFailed` and this as its underlying error.
public struct CassetteError: CodedError, Sendable {
    /// What failed. Two errors are equal if their codes are.
    public let code: Code
    /// A description for people. It contains no header value, body or query.
    public let message: String
    /// The error that caused this one, such as a decoder's; nil if there is none.
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

    /// What went wrong. Later versions may add codes; handle those that you know and treat the others as failures.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case notRecorded, unreadable, unwritable, malformed, unsupportedVersion, tooLarge, tooManyExchanges
        }
        private let value: Value

        /// The request was not recorded, or all of its recordings were replayed.
        public static let notRecorded = Code(value: .notRecorded)
        /// The file does not exist, or cannot be read.
        public static let unreadable = Code(value: .unreadable)
        /// The file cannot be written; an existing file is unchanged.
        public static let unwritable = Code(value: .unwritable)
        /// The file is not a cassette.
        public static let malformed = Code(value: .malformed)
        /// The file was written by a later version.
        public static let unsupportedVersion = Code(value: .unsupportedVersion)
        /// The file, or a body, is longer than its limit.
        public static let tooLarge = Code(value: .tooLarge)
        /// More exchanges than ``CassetteSettings/exchangeLimit``, in a file or while recording.
        public static let tooManyExchanges = Code(value: .tooManyExchanges)

        public var description: String { value.rawValue }
    }

    /// Of a request or of an answer.
    static func tooLong(_ limit: ByteCount) -> CassetteError {
        CassetteError(.tooLarge, "A body is longer than \(limit), which is not recorded.")
    }

    /// The load error with this as its underlying error.
    var loadError: LoadError { LoadError(.handlerFailed, at: .routing, "\(self)", underlying: self) }
}
