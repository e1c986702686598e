internal import SallyportBase
internal import SallyportCore

/// A user in a realm: `name@REALM`. The realm is never guessed.
public struct KerberosUser: Sendable, Hashable, CustomStringConvertible {
    /// The greatest length of name and realm together, in bytes.
    public static let maximumLength = 1024

    /// The part before the last `@`: not empty, without spaces and control characters. A slash separates components, as
    /// in `HTTP/host`.
    public let name: String
    /// The part after the last `@`, in the case in which it was given: realms are usually upper case. Without spaces,
    /// control characters, slashes, backslashes and colons.
    public let realm: String

    /// Reads `name@REALM`; the last `@` separates the two.
    ///
    /// - Throws: ``KerberosError/Code-swift.struct/invalidName``.
    public init(_ text: String) throws(KerberosError) {
        guard let user = Self(parsing: text) else {
            throw KerberosError(.invalidName, "A user of Kerberos is name@REALM, without control characters.")
        }
        self = user
    }

    init?(parsing text: String) {
        // By bytes, as krb5 reads it: an `@` and a combining mark behind it are one character.
        guard text.utf8.count <= Self.maximumLength, let at = text.utf8.lastIndex(of: UInt8(ascii: "@")) else {
            return nil
        }
        self.init(name: text[..<at], realm: text[text.utf8.index(after: at)...])
    }

    /// Nil unless both parts are what ``name`` and ``realm`` may be.
    private init?(name: Substring, realm: Substring) {
        guard Self.isWhole(name), Self.isWhole(realm), !realm.utf8.contains(where: { "/:@\\".utf8.contains($0) }) else {
            return nil
        }
        (self.name, self.realm) = (String(name), String(realm))
    }

    /// Whether it has text, and neither spaces nor control characters.
    private static func isWhole(_ part: Substring) -> Bool {
        !part.isEmpty && !part.utf8.contains { $0 <= 32 || $0 == 127 }
    }

    /// By bytes, as KDCs compare: to them, names that Unicode calls equivalent are names of different users.
    public static func == (one: KerberosUser, other: KerberosUser) -> Bool {
        ByteText(one.description) == ByteText(other.description)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(ByteText(description)) }

    public var description: String { "\(name)@\(realm)" }

    /// The form that krb5 reads. An `@` in the name (`ann@corp.example@CORP.EXAMPLE`) is escaped, and so is a
    /// backslash; a `/` separates components.
    var krb5Name: String {
        var escaped = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            if scalar == "@" || scalar == "\\" { escaped.append("\\") }
            escaped.append(scalar)
        }
        return "\(String(escaped))@\(realm)"
    }

    /// Reads the form that krb5 writes. Nil also for a name with a slash or a control character inside a component,
    /// which krb5 escapes: ``name`` cannot tell it from another user's.
    init?(krb5Name: String) {
        var name = String.UnicodeScalarView()
        var rest = krb5Name.unicodeScalars[...]
        while let first = rest.popFirst(), first != "@" {
            guard first == "\\" else {
                name.append(first)
                continue
            }
            guard let escaped = rest.popFirst(), escaped == "@" || escaped == "\\" else { return nil }
            name.append(escaped)
        }
        self.init(name: String(name)[...], realm: Substring(rest))
    }
}
