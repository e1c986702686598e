internal import SallyportBase

/// Names and passwords as NTLM encodes them.
enum NTLMText {
    /// UTF-16, the lower byte first.
    static func bytes(_ text: String) -> [UInt8] { text.utf16.flatMap { $0.littleEndianBytes } }

    /// As Windows does it: each UTF-16 unit is converted separately, so that the length never changes; `ß` and
    /// characters beyond 16 bits stay, and so do letters that would become another letter when converted back to lower
    /// case.
    static func uppercased(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { scalars.append(uppercased(scalar)) }
        return String(scalars)
    }

    private static func uppercased(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        let capitals = scalar.properties.uppercaseMapping.unicodeScalars
        guard scalar.value <= 0xffff, capitals.count == 1, let capital = capitals.first, capital.value <= 0xffff else {
            return scalar
        }
        // The sigma at the end of a word is the exception: ΓΙΏΡΓΟΣ.
        let isSame = capital.properties.lowercaseMapping.unicodeScalars.elementsEqual([scalar])
        return isSame || scalar == "ς" ? capital : scalar
    }
}

/// A user name in NTLM: `DOMAIN\user`; for a name alone, and for `user@REALM`, the client names no domain, and the
/// server determines it.
struct NTLMUser: Sendable, Hashable {
    /// The longest name and domain, in UTF-16 units: four times the limit of Windows.
    static let longest = 1024

    let domain: String
    let name: String

    /// Nil for an empty name, and for one that is too long or contains control characters.
    init?(_ user: String) {
        guard user.utf16.count <= Self.longest,
            !user.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 })
        else { return nil }
        if let end = user.firstIndex(of: "\\") {
            domain = String(user[..<end])
            name = String(user[user.index(after: end)...])
        } else {
            domain = ""
            name = user
        }
        guard !name.isEmpty else { return nil }
    }

    init(domain: String, name: String) { (self.domain, self.name) = (domain, name) }
}
