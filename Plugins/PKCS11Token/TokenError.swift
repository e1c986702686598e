package import SallyportBase

/// Why a token cannot be used.
package struct TokenError: Error, Sendable {
    package enum Code: Sendable { case unavailable, wrongPIN }

    package let code: Code
    package let message: String
    package let location: ErrorLocation

    package init(_ code: Code, _ message: String, fileID: StaticString = #fileID, line: UInt = #line) {
        self.code = code
        self.message = message
        location = ErrorLocation(fileID: fileID, line: line)
    }
}
