public import SallyportBase
internal import SallyportCore

/// Why a cassette does not play or record. A load that fails for it throws a `LoadError` with the code `handlerFailed`
/// and this error below it.
public struct CassetteError: CodedError, Sendable {
    public let code: Code
    /// What happened, for people. Holds no header value, body or query.
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

    /// What went wrong. New codes may come; match the ones that you handle.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case notRecorded, unreadable, unwritable, malformed, unsupportedVersion, tooLarge, tooManyExchanges
        }
        private let value: Value

        /// The request is none of those that were recorded, or all of its recordings were played.
        public static let notRecorded = Code(value: .notRecorded)
        /// The file is not there, or cannot be read.
        public static let unreadable = Code(value: .unreadable)
        /// The file cannot be written; what stood there before stands there still.
        public static let unwritable = Code(value: .unwritable)
        /// The file is not a cassette.
        public static let malformed = Code(value: .malformed)
        /// The file was written by a later version.
        public static let unsupportedVersion = Code(value: .unsupportedVersion)
        /// The file, or a body, is longer than its limit.
        public static let tooLarge = Code(value: .tooLarge)
        public static let tooManyExchanges = Code(value: .tooManyExchanges)

        public var description: String { value.rawValue }
    }

    /// As the error of the load that it ends.
    var loadError: LoadError { LoadError(.handlerFailed, at: .routing, "\(self)", underlying: self) }
}
