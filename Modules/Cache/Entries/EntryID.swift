/// Names a stored entry: 16 random octets.
struct EntryID: Sendable, Hashable {
    let octets: [UInt8]

    static func random() -> EntryID {
        var random = SystemRandomNumberGenerator()
        return EntryID(octets: [random.next(), random.next()].flatMap(\.bigEndianOctets))
    }
}

extension UInt64 {
    var bigEndianOctets: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * UInt64($0))) } }
}
