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
        guard text.utf8.count <= Self.maximumLength, let at = text.lastIndex(of: "@") else { return nil }
        let (name, realm) = (text[..<at], text[text.index(after: at)...])
        guard Self.isWhole(name), Self.isWhole(realm), !realm.utf8.contains(where: { "/:\\".utf8.contains($0) }) else {
            return nil
        }
        self.init(name: String(name), realm: String(realm))
    }

    private init(name: String, realm: String) { (self.name, self.realm) = (name, realm) }

    /// Whether it has no unescaped `@`, as krb5 writes names.
    private static func isWhole(_ part: Substring) -> Bool {
        !part.isEmpty && !part.utf8.contains { $0 <= 32 || $0 == 127 }
    }

    public var description: String { "\(name)@\(realm)" }

    /// The form that krb5 reads. An `@` in the name (`ann@corp.example@CORP.EXAMPLE`) is escaped; a `/` separates
    /// components.
    var krb5Name: String {
        let name = name.reduce(into: "") { text, character in
            if character == "@" || character == "\\" { text.append("\\") }
            text.append(character)
        }
        return "\(name)@\(realm)"
    }

    /// Reads the form that krb5 writes.
    init?(krb5Name: String) {
        var (name, rest): (String, Substring) = ("", krb5Name[...])
        while let first = rest.popFirst() {
            if first == "@" {
                guard !name.isEmpty, Self.isWhole(rest) else { return nil }
                self.init(name: name, realm: String(rest))
                return
            }
            guard first == "\\" else {
                name.append(first)
                continue
            }
            guard let escaped = rest.popFirst() else { return nil }
            name.append(escaped)
        }
        return nil
    }
}
