internal import SallyportBase

/// Finds expired records without reading the others.
///
/// A separate index in the tree, ordered by time: identifier(16) | expiry(8) | 16 bytes that depend on the record's
/// place. Each entry contains that place, encrypted.
enum ExpiryIndex {
    static let name = Array("internal\0expiry".utf8)
}

extension KeyRing {
    var expiryCipher: RecordCipher { cipher(ofCollection: ExpiryIndex.name) }
}

extension RecordCipher {
    func expiryPlace(_ expiry: UInt64, of target: [UInt8]) -> [UInt8] {
        identifier + expiry.bigEndianBytes + place(of: target).suffix(Self.identifierLength)
    }

    /// The time in an entry's place.
    static func expiry(inPlace place: [UInt8]) -> UInt64? {
        guard place.count == 40 else { return nil }
        return UInt64(bigEndianBytes: place[16..<24])
    }
}

extension WriteTransaction {
    /// Adds a record to the index.
    func mark(_ target: [UInt8], expiringAt expiry: UInt64) throws(StoreError) {
        let cipher = ring.expiryCipher
        let place = cipher.expiryPlace(expiry, of: target)
        let entry = try cipher.seal(Record(key: target, value: []), at: place)
        try replace(entry, at: place, in: cipher, named: ExpiryIndex.name)
    }

    /// Removes what is stored elsewhere for a record that is about to be replaced: its expiry's entry and its value's
    /// pieces.
    ///
    /// - Returns: the record, if it had more than a key and a value. A record that fails verification is not looked
    ///   into: overwriting it is the only way to get rid of it.
    @discardableResult
    func removeWhatBelongs(to old: [UInt8], at place: [UInt8], in cipher: RecordCipher) throws(StoreError) -> Record? {
        guard RecordCipher.hasMore(old), let record = try? cipher.open(old, at: place) else { return nil }
        if let expiry = record.expiry {
            let index = ring.expiryCipher
            try replace(nil, at: index.expiryPlace(expiry, of: place), in: index)
        }
        if record.isStreamed, let manifest = StreamManifest(bytes: record.value) { try removePieces(of: manifest) }
        return record
    }

    /// Removes up to `limit` records that have expired by `now`; returns how many index entries it read.
    func sweep(asOf now: UInt64, limit: Int) throws(StoreError) -> (seen: Int, removed: Int) {
        let index = ring.expiryCipher
        var due: [(place: [UInt8], entry: [UInt8])] = []
        try tree.forEach(prefix: index.identifier) { place, entry throws(StoreError) in
            guard let expiry = RecordCipher.expiry(inPlace: place) else { return true }
            guard expiry <= now, due.count < limit else { return false }
            due.append((place, entry))
            return true
        }
        var removed = 0
        for (place, entry) in due {
            // An earlier writer in the group may have removed it.
            guard try record(at: place) != nil else { continue }
            // A damaged entry goes too, or every later sweep would find it again. Its record cannot be found by it; it
            // is hidden, since it has expired, until it is replaced.
            if let target = try? index.open(entry, at: place).key,
                try expire(target, RecordCipher.expiry(inPlace: place))
            {
                removed += 1
            }
            try replace(nil, at: place, in: index)
        }
        return (due.count, removed)
    }

    /// Removes a record if it exists with exactly this expiry.
    private func expire(_ target: [UInt8], _ expiry: UInt64?) throws(StoreError) -> Bool {
        let cipher = ring.cipher(identifier: Array(target.prefix(RecordCipher.identifierLength)))
        guard let old = try record(at: target), let opened = try? cipher.open(old, at: target),
            opened.expiry == expiry
        else { return false }
        try removeWhatBelongs(to: old, at: target, in: cipher)
        if let label = opened.label { try leave(label, orderOf: cipher) }
        try replace(nil, at: target, in: cipher)
        tell(.removed(key: opened.key), cipher)
        return true
    }
}
