/// Numbers as NTLM's messages have them, the lowest octet first.
enum LittleEndian {
    static func octets<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> Number($0 * 8)) }
    }

    /// - Parameter offset: has four octets behind it.
    static func word(_ octets: [UInt8], at offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(octets[offset + $1]) << UInt32(8 * $1) }
    }

    /// - Parameter offset: has two octets behind it.
    static func half(_ octets: [UInt8], at offset: Int) -> Int { Int(octets[offset]) | Int(octets[offset + 1]) << 8 }
}
