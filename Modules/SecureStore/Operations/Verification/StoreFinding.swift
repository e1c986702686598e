/// One fault of a store, as found by ``SecureStore/verify()``.
public struct StoreFinding: Sendable, Hashable, CustomStringConvertible {
    /// What is damaged.
    public let kind: Kind
    /// The page of the data file, if the fault is in one page.
    public let page: UInt64?
    /// The collection's name, if the fault is in a collection whose name is still readable.
    public let collection: String?
    /// A description for people. It contains no key and no value.
    public let message: String

    init(kind: Kind, page: UInt64? = nil, collection: String? = nil, message: String) {
        (self.kind, self.page, self.collection, self.message) = (kind, page, collection, message)
    }

    public var description: String { "\(kind): \(message)" }
}

extension StoreFinding {
    /// The kind of a fault. Later versions may add kinds.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String { case metaPage, tree, freeList, lostPages, record, collection }
        private let value: Value

        /// The page that determines the newest snapshot.
        public static let metaPage = Kind(value: .metaPage)
        /// LMDB's tree: reading such a store may miss records or end the process.
        public static let tree = Kind(value: .tree)
        /// The list of free pages: writing to such a store may destroy records.
        public static let freeList = Kind(value: .freeList)
        /// Pages that are neither used nor free. They take space and do no other harm, but an undamaged store has none.
        public static let lostPages = Kind(value: .lostPages)
        /// A record that is not what was written at its place. Reads of it throw ``StoreError/Code/damaged``.
        public static let record = Kind(value: .record)
        /// A collection of which a record is missing, was added, or is older than it should be.
        public static let collection = Kind(value: .collection)

        public var description: String { value.rawValue }
    }
}
