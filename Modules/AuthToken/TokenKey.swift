internal import Crypto
internal import SallyportSecureStore
internal import SallyportWire

/// The key of this instance that tokens can be bound to: P-256, in the store's reserved names, out of the app's reach. It
/// is read for each use and not kept, so that a lock leaves nothing of it in memory and a wipe nothing at all.
struct TokenKey: Sendable {
    /// As it lies in the store.
    struct Record: Codable, Sendable, Hashable {
        /// Whose key it is: another activation of the store makes another one.
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

    /// The instance's key, made and durable where there is none yet.
    func key(of instance: String) async throws(AuthTokenError) -> P256.Signing.PrivateKey {
        let records = records
        do {
            if let key = try store.read({ try Self.key(of: instance, in: $0.value(for: Self.name, in: records)) }) {
                return key
            }
            let made = P256.Signing.PrivateKey().pemRepresentation
            // Of two tasks at once the second finds what the first made.
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
