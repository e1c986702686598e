extension ReadTransaction {
    /// Calls `body` with every record of bytes that can be read, in no order that says anything, and `damaged` for each
    /// that does not verify: for what is better had in part than not at all.
    ///
    /// - Throws: where the tree itself cannot be walked.
    package func forEachSound<Key>(
        in collection: StoreCollection<Key, [UInt8]>, _ body: (Key, [UInt8]) -> Void, damaged: () -> Void
    ) throws(StoreError) {
        try tree.forEach(prefix: collection.cipher.identifier) { place, record throws(StoreError) in
            guard place.count > RecordCipher.identifierLength else { return true }
            do throws(StoreError) {
                guard let (key, value) = try collection.pair(of: record, at: place, seenBy: self) else { return true }
                body(key, value)
            } catch {
                damaged()
            }
            return true
        }
    }
}
