/// Whether a collection's records can be read in the order of their keys without decrypting all of them.
public enum CollectionOrder: Sendable, Hashable {
    /// The file says nothing of the keys' order. Reading in order decrypts and sorts every key.
    case unordered
    /// Reading in order costs what is read: a range begins after some log n keys that are decrypted, and so does each
    /// key that is new. Who has the file, and not the keys, learns how the keys are ordered, and in what order they
    /// came where they came between others; not what they are.
    ///
    /// Part of a collection's name: an ordered collection and an unordered one of the same name are two.
    case ordered

    /// The name space of the app's collections with this order.
    var space: String {
        switch self {
        case .unordered: "public"
        case .ordered: "ordered"
        }
    }
}
