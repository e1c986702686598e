/// A JSON object in JOSE headers and claims (RFC 8259): few members, with unique names.
///
/// If a name occurs twice, two readers may take different values (RFC 7519 §4), so such an object is refused. It is
/// read in one pass without a decoder, since tokens are checked with each request.
package struct JOSEObject: Sendable, Equatable {
    /// A value; the members of an object are those of ``JOSEObject``.
    package enum Value: Sendable, Equatable {
        case null
        case bool(Bool)
        /// An integer of at most 18 digits, without fraction and exponent.
        case integer(Int64)
        /// Any other number; our claims have none.
        case number
        case string(String)
        case array([Value])
        case object(JOSEObject)
    }

    /// Sizes beyond which an object is refused.
    package enum Limits {
        /// The deepest nesting of objects and arrays.
        package static let depth = 8
        /// The most members of one object.
        package static let members = 64
        /// The most elements of one array.
        package static let elements = 256
    }

    private var members: [(name: String, value: Value)] = []

    package subscript(name: String) -> Value? { members.first { $0.name == name }?.value }

    package var names: [String] { members.map(\.name) }

    /// - Throws: ``WireError``: `malformed` if it is not an object, or has a name twice; `tooLarge`.
    package init(parsing bytes: [UInt8]) throws(WireError) {
        var scanner = JOSEScanner(bytes)
        let value = try scanner.value(depth: 1)
        guard case .object(let object) = value, scanner.isAtEnd else {
            throw WireError(.malformed, "The text is not one JSON object.")
        }
        self = object
    }

    init() {}

    mutating func add(_ name: String, _ value: Value) throws(WireError) {
        guard members.count < Limits.members else {
            throw WireError(.tooLarge, "An object has at most \(Limits.members) members.")
        }
        guard self[name] == nil else { throw WireError(.malformed, "A name occurs twice in one object.") }
        members.append((name, value))
    }

    package static func == (one: JOSEObject, other: JOSEObject) -> Bool {
        one.members.count == other.members.count && one.members.allSatisfy { other[$0.name] == $0.value }
    }
}

// MARK: Required and optional members

extension JOSEObject {
    /// The text of a required member.
    ///
    /// - Parameter limit: in UTF-8 bytes.
    package func string(_ name: String, upTo limit: Int = 1024) throws(WireError) -> String {
        guard let value = try optionalString(name, upTo: limit) else {
            throw WireError(.malformed, "The member \(name) is missing.")
        }
        return value
    }

    /// The text of an optional member.
    package func optionalString(_ name: String, upTo limit: Int = 1024) throws(WireError) -> String? {
        guard let value = self[name] else { return nil }
        guard case .string(let text) = value else { throw WireError(.malformed, "The member \(name) is no text.") }
        guard text.utf8.count <= limit else { throw WireError(.tooLarge, "\(name) has at most \(limit) bytes.") }
        return text
    }

    /// Unix seconds: from 1 to 2⁵³.
    package func time(_ name: String) throws(WireError) -> Int64 {
        guard let value = try optionalTime(name) else {
            throw WireError(.malformed, "The member \(name) is missing.")
        }
        return value
    }

    package func optionalTime(_ name: String) throws(WireError) -> Int64? {
        guard let value = self[name] else { return nil }
        guard case .integer(let number) = value, (1...1 << 53).contains(number) else {
            throw WireError(.malformed, "The member \(name) is not a time in whole seconds.")
        }
        return number
    }
}
