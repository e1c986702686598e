internal import FoundationEssentials

/// Messages as fields have them (MS-NTHT).
enum NTLMToken {
    /// Nil for what is no base64, and for what is longer than a challenge may be.
    static func octets(_ text: String) -> [UInt8]? {
        guard text.utf8.count <= (NTLMChallenge.longest + 2) / 3 * 4 else { return nil }
        return Data(base64Encoded: text).map(Array.init)
    }

    static func field(_ octets: [UInt8]) -> String { "NTLM \(Data(octets).base64EncodedString())" }
}
