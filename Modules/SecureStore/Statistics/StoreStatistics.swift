/// Statistics of a store at one moment.
public struct StoreStatistics: Sendable, Hashable {
    /// One of the app's own collections.
    public struct Collection: Sendable, Hashable {
        /// As the app has named it.
        public let name: String
        /// Whether it can be read in the order of its keys. A name may stand for one collection of each order.
        public let order: CollectionOrder
        /// The number of records, including expired ones until a sweep.
        public let records: Int
    }

    /// The app's own collections that ever had a record, by name.
    public let collections: [Collection]
    /// The number of records of all collections, including those of Sallyport's modules and internal ones.
    public let records: Int
    /// The number of records with an expiry.
    public let expiringRecords: Int
    /// The size of the data file, in bytes.
    public let fileSize: Int
    /// The part of the data file that the newest snapshot uses, in bytes; the rest is reused.
    public let usedSize: Int
    /// The size to which the file can grow before the map is enlarged, in bytes.
    public let mapSize: Int
    /// The number of the newest commit, since the store was made.
    public let lastCommit: UInt64
    /// The number of committed transactions, each with one sync, since this store was opened.
    public let commits: Int
    /// The number of writes in these transactions, and of failed ones.
    public let writes: Int
    /// The number of readers, in all processes, that hold a snapshot.
    public let readers: Int
    /// The number of data keys: one, or more while records wait to be re-encrypted.
    public let dataKeys: Int
    /// Whether the system keeps the keys out of swap (`RLIMIT_MEMLOCK`).
    public let areKeysLocked: Bool
}

extension SecureStore {
    /// The store's statistics. Costs a few reads for each collection.
    ///
    /// - Throws: ``StoreError/Code/closed``, ``StoreError/Code/damaged``.
    public func statistics() throws(StoreError) -> StoreStatistics {
        let summaries = try readRecord { transaction throws(StoreError) in try transaction.summaries() }
        let figures = try environment.figures()
        let counts = writer?.counts ?? Writer.Counts()
        let own = [CollectionOrder.unordered, .ordered].flatMap { order in
            let space = Array("\(order.space)\0".utf8)
            return summaries.filter { $0.name.starts(with: space) }.map { summary in
                StoreStatistics.Collection(name: summary.title ?? "?", order: order, records: summary.sum.entries)
            }
        }
        let expiring = summaries.first { $0.name == ExpiryIndex.name }
        return StoreStatistics(
            collections: own.sorted { $0.name < $1.name },
            records: Self.total(summaries), expiringRecords: expiring?.sum.entries ?? 0,
            fileSize: figures.fileSize, usedSize: figures.usedSize, mapSize: figures.mapSize,
            lastCommit: figures.lastCommit, commits: counts.commits, writes: counts.parts, readers: figures.readers,
            dataKeys: ring.dataKeys.count, areKeysLocked: ring.memory.isLocked)
    }

    /// A count that damage made wrong may be of any size.
    private static func total(_ summaries: [WriteSet.Summary]) -> Int {
        summaries.reduce(0) { total, summary in
            let (sum, isOver) = total.addingReportingOverflow(summary.sum.entries)
            return isOver ? .max : sum
        }
    }
}

extension ReadTransaction {
    /// The sums of all collections; one seek for each, which skips its records.
    func summaries() throws(StoreError) -> [WriteSet.Summary] {
        var summaries: [WriteSet.Summary] = []
        var next: [UInt8]? = [0]
        while let start = next {
            next = nil
            var found: (place: [UInt8], record: [UInt8])?
            try unsafe tree.scan(from: start) { place, record throws(StoreError) in
                found = unsafe (Array(place), Array(record))
                return false
            }
            guard let found else { break }
            let identifier = Array(found.place.prefix(RecordCipher.identifierLength))
            if found.place == identifier {
                summaries.append(try ring.cipher(identifier: identifier).openSummary(found.record))
            }
            next = Self.successor(of: identifier)
        }
        return summaries
    }

    /// The first place after all places with this prefix; nil if there can be none.
    private static func successor(of identifier: [UInt8]) -> [UInt8]? {
        var bytes = identifier
        while let last = bytes.popLast() {
            if last < 255 { return bytes + [last + 1] }
        }
        return nil
    }
}
