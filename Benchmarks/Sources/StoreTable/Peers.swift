import SallyportSecureStore
import StorePeers

/// A store that is measured.
protocol Peer {
    var name: String { get }
    /// One durable transaction.
    func write(_ keys: [Int64], _ value: [UInt8]) async throws
    /// Reads each key in a snapshot of its own.
    func read(_ keys: [Int64]) throws
}

struct SallyportPeer: Peer {
    let name = "Sallyport"
    let store: SecureStore
    let records: StoreCollection<Int64, [UInt8]>

    init(at path: String) async throws {
        store = try await SecureStore.open(at: path, protectedBy: .keyFile("\(path).key"))
        records = store.collection("records", of: [UInt8].self, keyedBy: Int64.self)
    }

    func write(_ keys: [Int64], _ value: [UInt8]) async throws {
        let records = records
        try await store.write { transaction in
            for key in keys { try transaction.set(value, for: key, in: records) }
        }
    }

    func read(_ keys: [Int64]) throws {
        for key in keys {
            guard try store.read({ try $0.value(for: key, in: records) })?.count == Sizes.value else {
                fatalError("A record is missing.")
            }
        }
    }
}

struct LMDBPeer: Peer {
    let name = "LMDB in C, plain text"
    let store: OpaquePointer

    init(at path: String) { store = raw_lmdb_open(path) }

    func write(_ keys: [Int64], _ value: [UInt8]) { raw_lmdb_write(store, keys, keys.count, value, value.count) }

    func read(_ keys: [Int64]) {
        var room = [UInt8](repeating: 0, count: Sizes.value)
        for key in keys { precondition(raw_lmdb_read(store, key, &room, room.count) == Sizes.value) }
    }
}

struct SQLCipherPeer: Peer {
    let name: String
    let store: OpaquePointer

    init(at path: String) {
        store = sqlcipher_open(path)
        name = "SQLCipher \(String(cString: sqlcipher_version(store)))"
    }

    func write(_ keys: [Int64], _ value: [UInt8]) { sqlcipher_write(store, keys, keys.count, value, value.count) }

    func read(_ keys: [Int64]) {
        var room = [UInt8](repeating: 0, count: Sizes.value)
        for key in keys { precondition(sqlcipher_read(store, key, &room, room.count) == Sizes.value) }
    }
}

enum Sizes {
    static let value = 256
}
