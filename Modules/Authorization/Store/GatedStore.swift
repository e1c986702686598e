public import SallyportCore
public import SallyportSecureStore

/// The app's store behind the gate: it opens only while the app is authorized.
///
/// Before authorization, and while authorization is withdrawn, every call throws `AccessDenied` and the data stays;
/// a wipe destroys it. A store of the app's own without a gate is `SecureStore.open`.
public struct GatedStore: Sendable {
    let store: SecureStore
    let gate: any AccessGate

    /// - Parameters:
    ///   - store: the caller closes it.
    ///   - gate: asked before each use: an ``Authorization``, as a rule.
    public init(_ store: SecureStore, gate: any AccessGate) {
        self.store = store
        self.gate = gate
    }

    /// A collection of Codable values. Naming one asks no gate.
    public func collection<Key: StoreKey, Value: Codable & Sendable>(
        _ name: String, of values: Value.Type, keyedBy keys: Key.Type = String.self,
        order: CollectionOrder = .unordered
    ) -> StoreCollection<Key, Value> {
        store.collection(name, of: values, keyedBy: keys, order: order)
    }

    /// A collection of bytes.
    public func collection<Key: StoreKey>(
        _ name: String, of values: [UInt8].Type, keyedBy keys: Key.Type = String.self,
        order: CollectionOrder = .unordered
    ) -> StoreCollection<Key, [UInt8]> {
        store.collection(name, of: values, keyedBy: keys, order: order)
    }

    /// Reads from one consistent snapshot, on the calling thread.
    ///
    /// - Throws: `AccessDenied` while the app is not authorized; `StoreError`; what `body` throws.
    public func read<Result>(_ body: (ReadTransaction) throws -> Result) throws -> Result {
        try gate.checkAuthorized()
        return try store.read(body)
    }

    /// Changes the store: all or nothing, durable when it returns.
    ///
    /// The gate is asked again when the writer's turn has come, so that nothing is written after a withdrawal.
    ///
    /// - Throws: as ``read(_:)``.
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (WriteTransaction) throws -> Result
    ) async throws -> Result {
        try gate.checkAuthorized()
        return try await store.write { [gate] transaction in
            try gate.checkAuthorized()
            return try body(transaction)
        }
    }
}
