/// The identity in whose name requests are made. Credentials, cookies, cache entries and connections of different
/// principals are kept apart.
public struct Principal: Sendable, Hashable, CustomStringConvertible {
    /// Chosen by the app. Names of the same bytes in UTF-8 are one principal. It may be stored, so it must not be a
    /// secret.
    public let name: String
    /// - Parameter name: any text.
    public init(_ name: String) { self.name = name }

    /// The app instance itself.
    public static let instance = Principal("instance")

    /// By bytes, as what is stored belongs to them: the source of the names may tell users apart whose names Unicode
    /// calls equivalent.
    public static func == (one: Principal, other: Principal) -> Bool {
        one.name.utf8.elementsEqual(other.name.utf8)
    }

    public var description: String { name }
}
