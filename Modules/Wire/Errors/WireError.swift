package import SallyportBase

/// Why bytes are not what a format of this module allows.
package struct WireError: CodedError, Sendable {
    /// What kind of fault it is.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String { case malformed, tooLarge, unsupported, signature }
        private let value: Value

        /// Not the syntax of the format, or a value outside its range.
        package static let malformed = Code(value: .malformed)
        /// Larger, deeper or more numerous than this project takes.
        package static let tooLarge = Code(value: .tooLarge)
        /// Well-formed, but of a kind that is refused: another algorithm, a critical extension.
        package static let unsupported = Code(value: .unsupported)
        /// The signature is not that of the key over these bytes.
        package static let signature = Code(value: .signature)

        package var description: String { value.rawValue }
    }

    package let code: Code
    /// What was expected and where. Never what was read: it may hold a secret.
    package let message: String
    package let underlying: (any Error)?
    package let location: ErrorLocation

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
