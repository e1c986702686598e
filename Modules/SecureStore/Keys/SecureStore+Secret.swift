public import SallyportBase

extension SecureStore {
    /// A secret of this store for one purpose, such as the key of a keyed hash: 32 bytes.
    ///
    /// It is computed from the store's keys and written nowhere. It is the same after each opening, after
    /// ``rotateDataKey()`` and after ``changeProtector(to:)``. Other purposes and other stores have other secrets; none
    /// tells anything about another one or about a key of the data. After ``wipe()`` it cannot be computed any more,
    /// and a store that is created in the same directory has another one. A secret that was returned before stays
    /// valid, so drop it with the data.
    ///
    /// - Parameter purpose: any text; the same bytes in UTF-8 are the same purpose. Sallyport's own parts use names
    ///   without a slash: `principals` for the key by which `URLLoadingSystem` names principals, `cache`, and
    ///   `credentials.users`. Begin those of your own with the name of your app and a slash.
    /// - Returns: the secret, which is neither printed nor logged.
    /// - Throws: ``StoreError/Code/closed`` after ``close()``, and as soon as a wipe has begun.
    public func secret(for purpose: String) throws(StoreError) -> Redacted<[UInt8]> {
        try environment.whileOpen {
            let key = ring.indexKey.macKey(for: Array("sallyport store secrets".utf8))
            return Redacted(key.code(Array(purpose.utf8)))
        }
    }

    /// The same for a part whose initialiser throws nothing. If the store is closed, a random one: nothing is stored or
    /// found by it any more, and what cleared keys would give is known to everyone.
    package func secretOrRandom(for purpose: String) -> Redacted<[UInt8]> {
        (try? secret(for: purpose)) ?? Redacted([UInt8].random(count: 32))
    }
}
