extension ReadTransaction {
    /// Calls `body` with every readable record, in no particular order, and `damaged` for each record that fails
    /// verification: for data of which a part is better than nothing.
    ///
    /// - Throws: an error if the tree itself cannot be walked, or if it is the file of the keys that cannot be read.
    package func forEachSound<Key>(
        in collection: StoreCollection<Key, [UInt8]>, _ body: (Key, [UInt8]) -> Void, damaged: () -> Void
    ) throws(StoreError) {
        try tree.forEach(prefix: collection.cipher.identifier) { place, record throws(StoreError) in
            guard place.count > RecordCipher.identifierLength else { return true }
            do throws(StoreError) {
                guard let (key, value) = try collection.pair(of: record, at: place, seenBy: self) else { return true }
                body(key, value)
            } catch {
                guard [.damaged, .encoding].contains(error.code) else { throw error }
                damaged()
            }
            return true
        }
    }
}
