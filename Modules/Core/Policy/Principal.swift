/// The identity in whose name requests are made. Credentials, cookies, cache entries and connections of different
/// principals are kept apart.
public struct Principal: Sendable, Hashable, CustomStringConvertible {
    /// Chosen by the app. Equal names are one principal. It may be stored, so it must not be a secret.
    public let name: String
    /// - Parameter name: any text.
    public init(_ name: String) { self.name = name }

    /// The app instance itself.
    public static let instance = Principal("instance")

    public var description: String { name }
}
