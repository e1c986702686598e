/// A domain name in a DNS message (RFC 1035 §3.1), as text without the final dot; the root is empty.
///
/// Only labels of visible ASCII without dots and backslashes, so that text and wire form are equivalent; lower case.
package struct DNSName: Sendable, Hashable, CustomStringConvertible, LosslessStringConvertible {
    package let labels: [String]

    /// At most 253 bytes, with 1 to 63 bytes in each label.
    package init?(_ text: String) {
        let text = text.hasSuffix(".") ? String(text.dropLast()) : text
        guard text.utf8.count <= 253 else { return nil }
        guard !text.isEmpty else {
            labels = []
            return
        }
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let labels = parts.compactMap { Self.label(Array($0)) }
        guard labels.count == parts.count else { return nil }
        self.labels = labels
    }

    private init(labels: [String]) { self.labels = labels }

    package var description: String { labels.joined(separator: ".") }

    private static func label(_ bytes: [UInt8]) -> String? {
        guard (1...63).contains(bytes.count),
            bytes.allSatisfy({
                (0x21...0x7e).contains($0) && $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "\\")
            })
        else { return nil }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }
}

extension DNSName {
    /// Reads a name at `offset`, and moves `offset` to its end. Compression pointers must point backwards (RFC 1035
    /// §4.1.4), so that reading always ends.
    init(in message: [UInt8], at offset: inout Int) throws(WireError) {
        var labels: [String] = []
        var length = 0
        var position = offset
        var limit = offset
        var end: Int?
        while true {
            guard position < message.count else { throw WireError(.malformed, "A DNS name runs over the end.") }
            let count = Int(message[position])
            switch count {
            case 0:
                offset = end ?? position + 1
                self.init(labels: labels)
                return
            case 1...63:
                guard position + 1 + count <= message.count,
                    let label = Self.label(Array(message[(position + 1)..<(position + 1 + count)]))
                else { throw WireError(.malformed, "A DNS label is not visible ASCII.") }
                length += count + 1
                guard length <= 254 else { throw WireError(.tooLarge, "A DNS name has at most 255 bytes.") }
                labels.append(label)
                position += 1 + count
            case 0xc0...:
                guard position + 1 < message.count else { throw WireError(.malformed, "A DNS pointer is cut.") }
                let target = (count & 0x3f) << 8 | Int(message[position + 1])
                guard target < limit else { throw WireError(.malformed, "A DNS pointer leads forwards.") }
                end = end ?? position + 2
                limit = target
                position = target
            default: throw WireError(.unsupported, "A DNS label of an unknown kind.")
            }
        }
    }

    /// The wire form, uncompressed.
    var bytes: [UInt8] { labels.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0] }
}
