package import SallyportBase

extension SecureStore {
    /// A secret of 32 bytes that belongs to this store and a purpose, for other modules: the same after each opening,
    /// whatever data keys come and go, and another in a store that was wiped and made anew. Stays good when the store
    /// is closed.
    package func secret(for purpose: String) -> Redacted<[UInt8]> {
        let key = ring.indexKey.macKey(for: Array("sallyport store secrets".utf8))
        return Redacted(key.code(Array(purpose.utf8)))
    }
}
