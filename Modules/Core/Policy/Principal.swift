internal import SallyportBase

/// The identity in whose name requests are made. Credentials, cookies, cache entries and connections of different
/// principals are kept apart.
public struct Principal: Sendable, Hashable, CustomStringConvertible {
    /// Chosen by the app. Names of the same bytes in UTF-8 are one principal. It may be stored, so it must not be a
    /// secret.
    public let name: String
    /// Whether the name is ASCII: then texts are equal only if their bytes are. Each request compares principals
    /// several times, and the comparison of two short texts is that of two words.
    private let isASCII: Bool

    /// - Parameter name: any text.
    public init(_ name: String) {
        self.name = name
        isASCII = name.utf8.allSatisfy { $0 < 0x80 }
    }

    /// The app instance itself.
    public static let instance = Principal("instance")

    /// By bytes, as what is stored belongs to them: the source of the names may tell users apart whose names Unicode
    /// calls equivalent.
    public static func == (one: Principal, other: Principal) -> Bool {
        if one.isASCII && other.isASCII { return one.name == other.name }
        return ByteText(one.name) == ByteText(other.name)
    }

    public func hash(into hasher: inout Hasher) {
        if isASCII { hasher.combine(name) } else { hasher.combine(ByteText(name)) }
    }

    public var description: String { name }
}
