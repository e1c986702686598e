internal import SallyportBase

/// `CHALLENGE_MESSAGE` (MS-NLMP §2.2.1.2): the server's answer to the first message.
package struct NTLMChallenge: Sendable, Hashable {
    /// The longest message that is read, in bytes.
    package static let longest = 8 << 10

    let flags: NTLMFlags
    /// 8 bytes.
    let nonce: [UInt8]
    /// Nil if the server sends none, as servers that only know NTLMv1.
    let targetInfo: TargetInfo?

    /// Nil if it is not a challenge, or cannot be answered: a server without Unicode, fields that extend beyond the
    /// message, into its head or into each other, and invalid pairs.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.longest, bytes.count >= 32, bytes.starts(with: NTLMMessage.signature),
            LittleEndian.word(bytes, at: 8) == 2
        else { return nil }
        let flags = NTLMFlags(rawValue: LittleEndian.word(bytes, at: 20))
        guard flags.contains(.unicode) else { return nil }
        self.flags = flags
        nonce = Array(bytes[24..<32])
        // Older versions have no target information; their head ends here.
        let head = flags.contains(.targetInfo) ? 48 : 32
        guard bytes.count >= head, let name = NTLMMessage.field(bytes, at: 12, behind: head),
            name.count.isMultiple(of: 2)
        else { return nil }
        guard flags.contains(.targetInfo) else {
            targetInfo = nil
            return
        }
        guard let range = NTLMMessage.field(bytes, at: 40, behind: head),
            name.isEmpty || range.isEmpty || !name.overlaps(range),
            let information = TargetInfo(Array(bytes[range]))
        else { return nil }
        targetInfo = information
    }
}

/// Elements that the three messages share.
enum NTLMMessage {
    static let signature = Array("NTLMSSP\0".utf8)

    /// The bytes at a field's length and offset; nil if they are outside the message, or inside the head.
    static func field(_ bytes: [UInt8], at position: Int, behind head: Int) -> Range<Int>? {
        let count = LittleEndian.half(bytes, at: position)
        // An empty field has no position.
        guard count > 0 else { return head..<head }
        guard let offset = Int(exactly: LittleEndian.word(bytes, at: position + 4)), offset >= head,
            count <= bytes.count - offset
        else { return nil }
        return offset..<offset + count
    }

    /// A field's length, length again, and offset.
    static func descriptor(_ count: Int, at offset: Int) -> [UInt8] {
        let length = UInt16(truncatingIfNeeded: count).littleEndianBytes
        return length + length + UInt32(truncatingIfNeeded: offset).littleEndianBytes
    }

    /// `NEGOTIATE_MESSAGE` (§2.2.1.1): names neither a domain nor this machine.
    static let negotiate: [UInt8] =
        signature + UInt32(1).littleEndianBytes + NTLMFlags.offered.rawValue.littleEndianBytes
        + [UInt8](repeating: 0, count: 16)
}
