/// One thing that is wrong with a store, as ``SecureStore/verify()`` found it.
public struct StoreFinding: Sendable, Hashable, CustomStringConvertible {
    public let kind: Kind
    /// The page of the data file, where the finding is about one.
    public let page: UInt64?
    /// The collection's name, where the finding is about one whose name can still be read.
    public let collection: String?
    /// For people. Names no key and no value.
    public let message: String

    init(kind: Kind, page: UInt64? = nil, collection: String? = nil, message: String) {
        (self.kind, self.page, self.collection, self.message) = (kind, page, collection, message)
    }

    public var description: String { "\(kind): \(message)" }
}

extension StoreFinding {
    /// What a finding is about. New kinds may come.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String { case metaPage, tree, freeList, lostPages, record, collection }
        private let value: Value

        /// The page that says which snapshot is the newest.
        public static let metaPage = Kind(value: .metaPage)
        /// LMDB's tree: reading such a store may miss records or end the process.
        public static let tree = Kind(value: .tree)
        /// The list of pages to use again: writing to such a store may destroy records.
        public static let freeList = Kind(value: .freeList)
        /// Pages that are neither used nor free. They cost space and harm nothing by themselves, but a store that
        /// was not damaged has none.
        public static let lostPages = Kind(value: .lostPages)
        /// A record that is not what was written at its place. Reads of it throw ``StoreError/Code/damaged``.
        public static let record = Kind(value: .record)
        /// A collection of which a record is missing, was added, or is older than it should be.
        public static let collection = Kind(value: .collection)

        public var description: String { value.rawValue }
    }
}
