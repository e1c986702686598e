extension ReadTransaction {
    /// Calls `body` with every record in the order of the keys' bytes, until it returns false.
    ///
    /// In an ``CollectionOrder/ordered`` collection, only the records that `body` sees are read, plus about log n keys
    /// to find the start of the range; each record costs two look-ups. In other collections the tree's order is
    /// unrelated to the keys', so this decrypts every record once to sort the keys, holds all keys in memory, and then
    /// reads the records that `body` sees: twice the cost of ``forEach(in:_:)``, and n·log n comparisons.
    ///
    /// - Parameters:
    ///   - lower: the first key, inclusive; from the beginning by default.
    ///   - upper: the last key, exclusive; to the end by default.
    public func forEachInOrder<Key, Value>(
        in collection: StoreCollection<Key, Value>, from lower: Key? = nil, upTo upper: Key? = nil,
        _ body: (Key, Value) throws(StoreError) -> Bool
    ) throws(StoreError) {
        func visit(_ place: [UInt8]) throws(StoreError) -> Bool {
            guard let record = try tree.value(at: place) else { throw collection.damaged() }
            guard let (key, value) = try collection.pair(of: record, at: place, seenBy: self) else { return true }
            return try body(key, value)
        }
        guard collection.order == .unordered else {
            return try forEachPlace(in: collection, from: lower?.storeBytes, upTo: upper?.storeBytes) {
                _, place throws(StoreError) in try visit(place)
            }
        }
        for (_, place) in try sorted(collection, from: lower, upTo: upper) {
            guard try visit(place) else { return }
        }
    }

    /// All keys, in their order. Costs as ``forEachInOrder(in:from:upTo:_:)``; the values are not decoded.
    public func keys<Key, Value>(
        in collection: StoreCollection<Key, Value>, from lower: Key? = nil, upTo upper: Key? = nil
    ) throws(StoreError) -> [Key] {
        var keys: [Key] = []
        guard collection.order == .unordered else {
            try forEachPlace(in: collection, from: lower?.storeBytes, upTo: upper?.storeBytes) {
                bytes, place throws(StoreError) in
                guard let record = try tree.value(at: place) else { throw collection.damaged() }
                let isExpired = try collection.opened(record, at: place).isExpired(at: now)
                if !isExpired { keys.append(try collection.key(bytes)) }
                return true
            }
            return keys
        }
        for (bytes, _) in try sorted(collection, from: lower, upTo: upper) { keys.append(try collection.key(bytes)) }
        return keys
    }

    private func sorted<Key, Value>(
        _ collection: StoreCollection<Key, Value>, from lower: Key?, upTo upper: Key?
    ) throws(StoreError) -> [(key: [UInt8], place: [UInt8])] {
        let (lower, upper) = (lower?.storeBytes, upper?.storeBytes)
        var found: [(key: [UInt8], place: [UInt8])] = []
        try tree.forEach(prefix: collection.cipher.identifier) { place, record throws(StoreError) in
            guard place.count > RecordCipher.identifierLength else { return true }
            let opened = try collection.opened(record, at: place)
            guard !opened.isExpired(at: now) else { return true }
            if let lower, opened.key.lexicographicallyPrecedes(lower) { return true }
            if let upper, !opened.key.lexicographicallyPrecedes(upper) { return true }
            found.append((opened.key, place))
            return true
        }
        return found.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    }
}
