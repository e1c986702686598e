internal import SallyportBase

/// Reads numbers as NTLM's messages have them, the lowest byte first.
enum LittleEndian {
    /// - Parameter offset: has four bytes behind it.
    static func word(_ octets: [UInt8], at offset: Int) -> UInt32 {
        UInt32(littleEndianOctets: octets[offset..<offset + 4])
    }

    /// - Parameter offset: has two bytes behind it.
    static func half(_ octets: [UInt8], at offset: Int) -> Int { Int(octets[offset]) | Int(octets[offset + 1]) << 8 }
}
