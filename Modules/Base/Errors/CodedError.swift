/// What the errors of all modules have in common: a code for programs, a message for people, a cause and a source
/// location.
///
/// Two errors are equal where their codes are. `description` is for users and logs and holds no secret;
/// `debugDescription` adds cause and place.
public protocol CodedError: Error, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// What an error of this type may say; its `description` is the code's name.
    associatedtype Code: Hashable, CustomStringConvertible, Sendable

    /// What failed.
    var code: Code { get }
    /// A description for people. It contains no key, token, header value, body, cookie or query.
    var message: String { get }
    /// The error that caused this one; nil if there is none. For logs: which errors it can be is not promised unless
    /// the code says so.
    var underlying: (any Error)? { get }
    /// The place in the source that made the error.
    var location: ErrorLocation { get }
}

extension CodedError {
    public var description: String { "\(code): \(message)" }

    public var debugDescription: String {
        let cause = underlying.map { ", underlying: \($0)" } ?? ""
        return "\(Self.self)(\(description)\(cause), \(location))"
    }

    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}
