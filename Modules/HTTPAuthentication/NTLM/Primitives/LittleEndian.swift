internal import SallyportBase

/// Reads numbers in NTLM messages, least significant byte first.
enum LittleEndian {
    /// - Parameter offset: must be followed by four bytes.
    static func word(_ bytes: [UInt8], at offset: Int) -> UInt32 {
        UInt32(littleEndianBytes: bytes[offset..<offset + 4])
    }

    /// - Parameter offset: must be followed by two bytes.
    static func half(_ bytes: [UInt8], at offset: Int) -> Int { Int(bytes[offset]) | Int(bytes[offset + 1]) << 8 }
}
