/// The effect of one committed change, for watchers.
struct StoreEvent: Sendable {
    /// The collection's identifier.
    let identifier: [UInt8]
    let kind: Kind

    enum Kind: Sendable {
        case set(key: [UInt8])
        case removed(key: [UInt8])
        case removedAll
    }
}
