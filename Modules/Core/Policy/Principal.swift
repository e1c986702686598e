/// The identity in whose name requests are made. Credentials, cookies, cache entries and connections of different
/// principals are kept apart.
public struct Principal: Sendable, Hashable, CustomStringConvertible {
    public let name: String
    public init(_ name: String) { self.name = name }

    /// The app instance itself.
    public static let instance = Principal("instance")

    public var description: String { name }
}
