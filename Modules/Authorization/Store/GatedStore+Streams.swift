public import FoundationEssentials
internal import SallyportCore
public import SallyportSecureStore

extension GatedStore {
    /// Sets a value that comes in chunks, as `SecureStore.write(_:for:in:expiresAt:)` does.
    ///
    /// The gate is asked before each chunk and before the value takes its place: a withdrawal meanwhile leaves the old
    /// one.
    ///
    /// - Returns: its length.
    /// - Throws: `AccessDenied` while the app is not authorized; `StoreError`; what `chunks` throws.
    @discardableResult
    public func write<Key: StoreKey, Chunks: AsyncSequence>(
        _ chunks: Chunks, for key: Key, in collection: StoreCollection<Key, [UInt8]>, expiresAt expiry: Date? = nil
    ) async throws -> Int where Chunks.Element == [UInt8] {
        try gate.checkAuthorized()
        return try await store.write(Gated(base: chunks, gate: gate), for: key, in: collection, expiresAt: expiry)
    }

    /// A value in chunks, each read when it is asked for, as `SecureStore.chunks(of:in:)` gives it; nil where there is
    /// none. The gate is asked for each.
    ///
    /// - Throws: `AccessDenied` while the app is not authorized; `StoreError`.
    public func chunks<Key: StoreKey>(
        of key: Key, in collection: StoreCollection<Key, [UInt8]>
    ) throws -> Gated<StoredChunks>? {
        try gate.checkAuthorized()
        return try store.chunks(of: key, in: collection).map { Gated(base: $0, gate: gate) }
    }

    /// What happens to a collection from now on; see `StoreChanges` for what is dropped when. The gate is asked for
    /// each change.
    ///
    /// - Throws: `AccessDenied` while the app is not authorized.
    public func changes<Key, Value>(in collection: StoreCollection<Key, Value>) throws -> Gated<StoreChanges<Key>> {
        try gate.checkAuthorized()
        return Gated(base: store.changes(in: collection), gate: gate)
    }

    /// Removes the records that have expired; gives how many.
    ///
    /// - Throws: `AccessDenied` while the app is not authorized; `StoreError`; `CancellationError`.
    @discardableResult
    public func sweep(asOf date: Date = Date()) async throws -> Int {
        try gate.checkAuthorized()
        return try await store.sweep(asOf: date)
    }
}
