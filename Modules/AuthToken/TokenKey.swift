internal import Crypto
internal import SallyportSecureStore
internal import SallyportWire

/// This instance's P-256 key, to which tokens can be bound. It is kept under the store's reserved names, which the app
/// cannot reach. It is read from the store for each use: after a lock no copy stays in memory, and a wipe destroys it.
struct TokenKey: Sendable {
    /// The key as it is stored.
    struct Record: Codable, Sendable, Hashable {
        /// The instance that owns the key. Activating the store again creates another instance.
        var instance: String
        /// PKCS#8, PEM.
        var privateKey: String
    }

    private static let name = "current"
    private let store: SecureStore
    private let records: StoreCollection<String, Record>

    init(in store: SecureStore) {
        self.store = store
        records = store.reservedCollection("authToken.key", of: Record.self)
    }

    /// The instance's key; created and stored durably if there is none yet.
    func key(of instance: String) async throws(AuthTokenError) -> P256.Signing.PrivateKey {
        let records = records
        do {
            if let key = try store.read({ try Self.key(of: instance, in: $0.value(for: Self.name, in: records)) }) {
                return key
            }
            let made = P256.Signing.PrivateKey().pemRepresentation
            // If two tasks get here at once, the second finds the key that the first created.
            let record = try await store.write { transaction in
                let found = try transaction.value(for: Self.name, in: records)
                if let found, try Self.key(of: instance, in: found) != nil { return found }
                let record = Record(instance: instance, privateKey: made)
                try transaction.set(record, for: Self.name, in: records)
                return record
            }
            return try P256.Signing.PrivateKey(pemRepresentation: record.privateKey)
        } catch {
            throw AuthTokenError(.store, "The instance's key cannot be had.", underlying: error)
        }
    }

    private static func key(of instance: String, in record: Record?) throws -> P256.Signing.PrivateKey? {
        guard let record, record.instance == instance else { return nil }
        return try P256.Signing.PrivateKey(pemRepresentation: record.privateKey)
    }
}
