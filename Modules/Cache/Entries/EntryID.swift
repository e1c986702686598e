internal import SallyportBase

/// The identifier of a stored entry: 16 random bytes.
struct EntryID: Sendable, Hashable {
    let bytes: [UInt8]

    static func random() -> EntryID {
        var random = SystemRandomNumberGenerator()
        return EntryID(bytes: [random.next(), random.next()].flatMap(\.bigEndianBytes))
    }
}
