package import SallyportBase

/// A user name and a password in an `Authorization` field (RFC 7617); EST enrolment sends the access key in this form.
package struct BasicCredentials: Sendable, Hashable {
    package let user: String
    package let password: Redacted<String>

    package init(user: String, password: Redacted<String>) {
        self.user = user
        self.password = password
    }

    /// Reads the value of an `Authorization` field; at most 1,024 bytes.
    package init(fieldValue: String) throws(WireError) {
        guard fieldValue.utf8.count <= 1024 else { throw WireError(.tooLarge, "Basic credentials are too long.") }
        let parts = fieldValue.split(separator: " ", omittingEmptySubsequences: true)
        guard parts.count == 2, parts[0].lowercased() == "basic" else {
            throw WireError(.malformed, "Not Basic credentials.")
        }
        let bytes = try Base64.decode(parts[1].utf8)
        guard let text = String(validating: bytes, as: UTF8.self), let colon = text.utf8.firstIndex(of: 0x3a),
            Self.isUser(String(text[..<colon]))
        else { throw WireError(.malformed, "Basic credentials are user, colon and password in UTF-8.") }
        user = String(text[..<colon])
        password = Redacted(String(text[text.utf8.index(after: colon)...]))
    }

    /// The value of the `Authorization` field.
    package var fieldValue: Redacted<String> {
        Redacted("Basic \(Base64.encode(Array("\(user):\(password.reveal())".utf8)))")
    }

    /// 1 to 254 bytes without colons and control characters (C0, DEL and C1, which terminals interpret too), and
    /// without a space at either end, which a header field would lose (RFC 9110 §5.5).
    package static func isUser(_ text: String) -> Bool {
        // The ends are looked at as bytes: a space and a combining mark behind it are one character.
        (1...254).contains(text.utf8.count) && text.utf8.first != 0x20 && text.utf8.last != 0x20
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.value >= 0x20 && !(0x7f...0x9f).contains(scalar.value) && scalar != ":"
            }
    }
}
