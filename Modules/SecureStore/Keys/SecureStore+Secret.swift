package import SallyportBase

extension SecureStore {
    /// A 32-byte secret for a purpose of another module: the same after each opening, independent of the data keys, and
    /// different after a wipe and a new creation. Stays valid when the store is closed.
    package func secret(for purpose: String) -> Redacted<[UInt8]> {
        let key = ring.indexKey.macKey(for: Array("sallyport store secrets".utf8))
        return Redacted(key.code(Array(purpose.utf8)))
    }
}
