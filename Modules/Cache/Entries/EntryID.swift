internal import SallyportBase

/// The identifier of a stored entry: 16 random bytes.
struct EntryID: Sendable, Hashable {
    let octets: [UInt8]

    static func random() -> EntryID {
        var random = SystemRandomNumberGenerator()
        return EntryID(octets: [random.next(), random.next()].flatMap(\.bigEndianOctets))
    }
}
