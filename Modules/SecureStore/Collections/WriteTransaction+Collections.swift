public import FoundationEssentials

// MARK: Writing

extension WriteTransaction {
    /// Sets a value, and replaces an earlier one together with its expiry.
    ///
    /// - Parameters:
    ///   - value: encoded and encrypted at once.
    ///   - key: the record's key.
    ///   - collection: the collection to change.
    ///   - expiry: when the record becomes unreadable; ``SecureStore/sweep(asOf:)`` removes it later. Precise to the
    ///     millisecond of the system's clock. The file reveals when records expire, but not which.
    /// - Throws: ``StoreError/Code/tooLarge`` for a key over ``SecureStore/maximumKeyLength`` or a value over
    ///   ``SecureStore/maximumValueLength`` bytes.
    public func set<Key, Value>(
        _ value: Value, for key: Key, in collection: StoreCollection<Key, Value>, expiresAt expiry: Date? = nil
    ) throws(StoreError) {
        let value = try collection.encode(value)
        guard value.count <= SecureStore.maximumValueLength else {
            throw StoreError(.tooLarge, "A value has at most \(SecureStore.maximumValueLength) bytes.")
        }
        let key = try collection.bytes(of: key)
        try put(Record(key: key, value: value, expiry: expiry.map(StoreTime.milliseconds)), in: collection)
    }

    /// Removes a value; if there is none, this is no error.
    public func remove<Key, Value>(_ key: Key, from collection: StoreCollection<Key, Value>) throws(StoreError) {
        let bytes = key.storeBytes
        let place = collection.cipher.place(of: bytes)
        guard let old = try record(at: place) else { return }
        let opened = try removeWhatBelongs(to: old, at: place, in: collection.cipher)
        if let label = opened?.label {
            try leave(label, orderOf: collection.cipher)
        } else if collection.order == .ordered {
            try leave(bytes, orderOf: collection.cipher)
        }
        try replace(nil, at: place, in: collection.cipher)
        tell(.removed(key: bytes), collection.cipher)
    }

    /// Removes every record of the collection. Costs as much as reading it.
    ///
    /// A collection whose count and sum were damaged can be written again afterwards.
    public func removeAll<Key, Value>(from collection: StoreCollection<Key, Value>) throws(StoreError) {
        for (place, record) in try records(of: collection.cipher.identifier) {
            try removeWhatBelongs(to: record, at: place, in: collection.cipher)
            try replace(nil, at: place, in: collection.cipher)
        }
        try mendSummary(ofEmpty: collection.cipher, named: collection.fullName)
        if collection.order == .ordered { try leaveAll(orderOf: collection.cipher) }
        tell(.removedAll, collection.cipher)
    }

    func put<Key, Value>(_ new: Record, in collection: StoreCollection<Key, Value>) throws(StoreError) {
        let cipher = collection.cipher
        let place = cipher.place(of: new.key)
        var new = new
        if let old = try record(at: place) {
            new.label = try removeWhatBelongs(to: old, at: place, in: cipher)?.label
        }
        if new.label == nil, collection.order == .ordered { new.label = try enter(new.key, orderOf: cipher) }
        try replace(try cipher.seal(new, at: place), at: place, in: cipher, named: collection.fullName)
        if let expiry = new.expiry { try mark(place, expiringAt: expiry) }
        tell(.set(key: new.key), cipher)
    }
}

// MARK: Reading

extension WriteTransaction {
    /// The value, including this transaction's changes; nil if there is none.
    public func value<Key, Value>(
        for key: Key, in collection: StoreCollection<Key, Value>
    ) throws(StoreError) -> Value? {
        let bytes = key.storeBytes
        let place = collection.cipher.place(of: bytes)
        guard let record = try record(at: place) else { return nil }
        return try collection.value(of: record, at: place, expecting: bytes, seenBy: self)
    }

    /// All records, including this transaction's changes, in no particular order.
    public func all<Key, Value>(in collection: StoreCollection<Key, Value>) throws(StoreError) -> [(Key, Value)] {
        var found: [(Key, Value)] = []
        for (place, record) in try records(of: collection.cipher.identifier) {
            guard let pair = try collection.pair(of: record, at: place, seenBy: self) else { continue }
            found.append(pair)
        }
        return found
    }

    /// The number of records, including this transaction's changes; expired ones are counted until a sweep.
    public func count<Key, Value>(of collection: StoreCollection<Key, Value>) throws(StoreError) -> Int {
        try summary(of: collection.cipher, named: collection.fullName).sum.entries
    }
}
