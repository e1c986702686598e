/// Why a text is not a valid address.
public struct AddressError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong with the text.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String { case invalidURL, invalidHost, invalidPort, credentialsInURL, noHost }
        private let value: Value

        /// Not a URL of RFC 3986, or longer than ``RequestURL/maximumLength``.
        public static let invalidURL = Code(value: .invalidURL)
        /// Neither a name that maps to A-labels by UTS-46, nor an IPv4 number, nor an IPv6 literal.
        public static let invalidHost = Code(value: .invalidHost)
        /// Not a number from 1 to 65535.
        public static let invalidPort = Code(value: .invalidPort)
        /// The URL contains a user name or password; credentials are given with the request instead.
        public static let credentialsInURL = Code(value: .credentialsInURL)
        /// The URL names no host.
        public static let noHost = Code(value: .noHost)

        public var description: String { value.rawValue }
    }

    /// What is wrong. Two errors are equal if their codes are.
    public let code: Code
    /// What was expected. The given text is not included, because it may contain a secret.
    public let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code): \(message)" }

    public static func == (left: AddressError, right: AddressError) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}
