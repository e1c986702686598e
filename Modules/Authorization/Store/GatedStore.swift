public import SallyportCore
public import SallyportSecureStore

/// The app's store, accessible only while the app is authorized.
///
/// Before authorization, and while authorization is withdrawn, every call throws `AccessDenied` and the data stays; a
/// wipe destroys it. For a store without a gate, use `SecureStore.open`.
public struct GatedStore: Sendable {
    let store: SecureStore
    let gate: any AccessGate

    /// - Parameters:
    ///   - store: must be closed by the caller.
    ///   - gate: checked before each use; usually an ``Authorization``.
    public init(_ store: SecureStore, gate: any AccessGate) {
        self.store = store
        self.gate = gate
    }

    /// A collection of Codable values. Creating it does not check the gate.
    public func collection<Key: StoreKey, Value: Codable & Sendable>(
        _ name: String, of values: Value.Type, keyedBy keys: Key.Type = String.self,
        order: CollectionOrder = .unordered
    ) -> StoreCollection<Key, Value> {
        store.collection(name, of: values, keyedBy: keys, order: order)
    }

    /// A collection of byte arrays.
    public func collection<Key: StoreKey>(
        _ name: String, of values: [UInt8].Type, keyedBy keys: Key.Type = String.self,
        order: CollectionOrder = .unordered
    ) -> StoreCollection<Key, [UInt8]> {
        store.collection(name, of: values, keyedBy: keys, order: order)
    }

    /// Reads from one consistent snapshot, on the calling thread.
    ///
    /// - Throws: `AccessDenied` while the app is not authorized; `StoreError`; errors of `body`.
    public func read<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result {
        try gate.checkAuthorized()
        return try store.read(body)
    }

    /// Changes the store: all or nothing, durable when it returns.
    ///
    /// The gate is checked again when the write begins, so that nothing is written after a withdrawal.
    ///
    /// - Parameters:
    ///   - isolation: the caller's actor, whose writes keep their order.
    ///   - body: reads and changes the store.
    /// - Throws: as ``read(_:)``.
    public func write<Result: Sendable>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: @escaping @Sendable (WriteTransaction) throws -> Result
    ) async throws -> Result {
        try gate.checkAuthorized()
        return try await store.write { [gate] transaction in
            try gate.checkAuthorized()
            return try body(transaction)
        }
    }
}
