/// Whether a collection's records can be read in the order of their keys without decrypting all of them.
public enum CollectionOrder: Sendable, Hashable {
    /// The file reveals nothing about the keys' order. Reading in order decrypts and sorts every key.
    case unordered
    /// The cost of reading in order depends on what is read: finding the start of a range decrypts about log n keys, as
    /// does adding a key. The file reveals the order of the keys, and the sequence in which keys were inserted between
    /// others, even without the store's keys; it does not reveal the keys themselves.
    ///
    /// The order is part of a collection's identity: an ordered and an unordered collection of the same name are
    /// different.
    case ordered

    /// The name space of the app's collections with this order.
    var space: String {
        switch self {
        case .unordered: "public"
        case .ordered: "ordered"
        }
    }
}
