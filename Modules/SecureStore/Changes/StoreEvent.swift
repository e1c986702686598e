/// What one committed change did, for those who watch.
struct StoreEvent: Sendable {
    /// The collection's.
    let identifier: [UInt8]
    let kind: Kind

    enum Kind: Sendable {
        case set(key: [UInt8])
        case removed(key: [UInt8])
        case removedAll
    }
}
