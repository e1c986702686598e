internal import SallyportBase

/// Reads numbers in NTLM messages, least significant byte first.
enum LittleEndian {
    /// - Parameter offset: must be followed by four bytes.
    static func word(_ octets: [UInt8], at offset: Int) -> UInt32 {
        UInt32(littleEndianOctets: octets[offset..<offset + 4])
    }

    /// - Parameter offset: must be followed by two bytes.
    static func half(_ octets: [UInt8], at offset: Int) -> Int { Int(octets[offset]) | Int(octets[offset + 1]) << 8 }
}
