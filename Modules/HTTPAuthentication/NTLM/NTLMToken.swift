internal import FoundationEssentials

/// The encoding of messages in header fields (MS-NTHT).
enum NTLMToken {
    /// Nil if it is not base64, or longer than a challenge may be.
    static func bytes(_ text: String) -> [UInt8]? {
        guard text.utf8.count <= (NTLMChallenge.longest + 2) / 3 * 4 else { return nil }
        return Data(base64Encoded: text).map(Array.init)
    }

    static func field(_ bytes: [UInt8]) -> String { "NTLM \(Data(bytes).base64EncodedString())" }
}
