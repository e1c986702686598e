extension ConfigurationDocument.User {
    /// Whether a text is a user principal name: `user@realm`, 3 to 1,024 bytes, without spaces and control characters.
    package static func isPrincipalName(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        return text.utf8.count <= 1024 && parts.count == 2 && parts.allSatisfy { !$0.isEmpty }
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.value > 32 && !(0x7f...0x9f ~= scalar.value) && !scalar.properties.isWhitespace
            }
    }
}

extension ConfigurationDocument.Application {
    /// The members of extra information; nil unless the text is a JSON object of at most
    /// ``ConfigurationDocument/Limits/text`` bytes.
    package static func extraInfo(_ text: String) -> [String: JSONValue]? {
        let limit = ConfigurationDocument.Limits.text
        guard case .object(let members)? = try? WireJSON.decode(JSONValue.self, from: Array(text.utf8), limit: limit)
        else { return nil }
        return members
    }
}
