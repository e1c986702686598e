public import FoundationEssentials
internal import SallyportCore
public import SallyportSecureStore

extension GatedStore {
    /// Sets a value that arrives in chunks, like `SecureStore.write(_:for:in:expiresAt:)`.
    ///
    /// The gate is checked before each chunk and before the value is replaced: after a withdrawal the old value stays.
    ///
    /// - Returns: the value's length.
    /// - Throws: `AccessDenied` while the app is not authorized; `StoreError`; errors of `chunks`.
    @discardableResult
    public func write<Key: StoreKey, Chunks: AsyncSequence>(
        _ chunks: Chunks, for key: Key, in collection: StoreCollection<Key, [UInt8]>, expiresAt expiry: Date? = nil
    ) async throws -> Int where Chunks.Element == [UInt8] {
        try gate.checkAuthorized()
        let chunks = Gated(base: chunks, gate: gate)
        return try await store.write(chunks, for: key, in: collection, expiresAt: expiry) { [gate] in
            try gate.checkAuthorized()
        }
    }

    /// A value in chunks, each of which is read when it is requested, like `SecureStore.chunks(of:in:)`; nil if there
    /// is none. The gate is checked for each chunk.
    ///
    /// - Throws: `AccessDenied` while the app is not authorized; `StoreError`.
    public func chunks<Key: StoreKey>(
        of key: Key, in collection: StoreCollection<Key, [UInt8]>
    ) throws -> Gated<StoredChunks>? {
        try gate.checkAuthorized()
        return try store.chunks(of: key, in: collection).map { Gated(base: $0, gate: gate) }
    }

    /// The changes of a collection from now on; `StoreChanges` says which of them may be dropped. The gate is checked
    /// for each change.
    ///
    /// - Throws: `AccessDenied` while the app is not authorized.
    public func changes<Key, Value>(in collection: StoreCollection<Key, Value>) throws -> Gated<StoreChanges<Key>> {
        try gate.checkAuthorized()
        return Gated(base: store.changes(in: collection), gate: gate)
    }

    /// Removes the expired records and returns their number.
    ///
    /// - Throws: `AccessDenied` while the app is not authorized; `StoreError`; `CancellationError`.
    @discardableResult
    public func sweep(asOf date: Date = Date()) async throws -> Int {
        try gate.checkAuthorized()
        return try await store.sweep(asOf: date)
    }
}
