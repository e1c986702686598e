package import SallyportBase

/// Why bytes are invalid in a format of this module.
package struct WireError: CodedError, Sendable {
    /// The kind of the error.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String { case malformed, tooLarge, unsupported, signature }
        private let value: Value

        /// Invalid syntax, or a value outside its range.
        package static let malformed = Code(value: .malformed)
        /// Too long, too deeply nested or too numerous.
        package static let tooLarge = Code(value: .tooLarge)
        /// Well-formed, but not supported: another algorithm, a critical extension.
        package static let unsupported = Code(value: .unsupported)
        /// The signature is invalid for this key and these bytes.
        package static let signature = Code(value: .signature)

        package var description: String { value.rawValue }
    }

    package let code: Code
    /// What was expected and where. The input is not included, because it may contain a secret.
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
