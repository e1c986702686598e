internal import SallyportBase

/// The identifier of a stored entry: 16 random bytes.
struct EntryID: Sendable, Hashable {
    let bytes: [UInt8]

    static func random() -> EntryID { EntryID(bytes: [UInt8].random(count: 16)) }
}
