extension ReadTransaction: OrderSource {
    func entry(from label: OrderLabel, in index: OrderIndex) throws(StoreError) -> OrderEntry? {
        guard let (place, record) = try tree.first(from: index.place(of: label), prefix: index.cipher.identifier)
        else { return nil }
        return try index.entry(record, at: place)
    }

    func lastEntry(in index: OrderIndex) throws(StoreError) -> OrderEntry? {
        guard let (place, record) = try tree.last(upTo: index.place(of: .greatest), prefix: index.cipher.identifier)
        else { return nil }
        return try index.entry(record, at: place)
    }

    /// Calls `body` with the key and the place of every record of an ordered collection within the range, in order.
    func forEachPlace<Key, Value>(
        in collection: StoreCollection<Key, Value>, from lower: [UInt8]?, upTo upper: [UInt8]?,
        _ body: (_ key: [UInt8], _ place: [UInt8]) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let index = OrderIndex(of: collection.cipher.identifier, in: ring)
        var start: OrderLabel? = .least
        if let lower {
            let position = try position(of: lower, in: index)
            start = position.own ?? position.upper
        }
        guard let start else { return }
        try unsafe tree.scan(from: index.place(of: start)) { place, record throws(StoreError) in
            guard unsafe place.starts(with: index.cipher.identifier) else { return false }
            guard let key = unsafe try index.entry(Array(record), at: Array(place))?.key else { return true }
            if let upper, !key.lexicographicallyPrecedes(upper) { return false }
            return try body(key, collection.cipher.place(of: key))
        }
    }
}

extension OrderIndex {
    /// Nil for the index's sum, which is stored among the entries.
    func entry(_ record: [UInt8], at place: [UInt8]) throws(StoreError) -> OrderEntry? {
        guard let label = label(ofPlace: place) else { return nil }
        return OrderEntry(label: label, key: try cipher.open(record, at: place).key)
    }
}
