import SallyportSecureStore
import StorePeers

/// Keys as each peer takes them, made before the clock runs.
struct Keys: Sendable {
    let names: [String]
    /// 16 characters each.
    let packed: [CChar]

    init(_ numbers: some Sequence<Int>) {
        names = numbers.map { number in
            let digits = String(number)
            return "record-" + String(repeating: "0", count: 9 - digits.count) + digits
        }
        packed = names.flatMap { $0.utf8.map { CChar(bitPattern: $0) } }
    }

    /// Calls a peer in C with each key and room for its value, of which it gives the length.
    func readEach(_ read: (UnsafePointer<CChar>, UnsafeMutablePointer<UInt8>) -> Int) {
        var room = [UInt8](repeating: 0, count: Sizes.value)
        packed.withUnsafeBufferPointer { packed in
            guard let first = packed.baseAddress else { return }
            for index in names.indices { precondition(read(first + index * 16, &room) == Sizes.value) }
        }
    }
}

/// A store that is measured.
protocol Peer {
    var name: String { get }
    /// One durable transaction.
    func write(_ keys: Keys, _ value: [UInt8]) async throws
    /// Reads each key in a snapshot of its own.
    func read(_ keys: Keys) throws
}

struct SallyportPeer: Peer {
    let name = "Sallyport"
    let store: SecureStore
    let records: StoreCollection<String, [UInt8]>

    init(at path: String) async throws {
        store = try await SecureStore.open(at: path, protectedBy: .keyFile("\(path).key"))
        records = store.collection("records", of: [UInt8].self)
    }

    func write(_ keys: Keys, _ value: [UInt8]) async throws {
        let records = records
        try await store.write { transaction in
            for key in keys.names { try transaction.set(value, for: key, in: records) }
        }
    }

    func read(_ keys: Keys) throws {
        for key in keys.names {
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

    func write(_ keys: Keys, _ value: [UInt8]) {
        raw_lmdb_write(store, keys.packed, keys.names.count, value, value.count)
    }

    func read(_ keys: Keys) { keys.readEach { raw_lmdb_read(store, $0, $1, Sizes.value) } }
}

struct SQLCipherPeer: Peer {
    let name: String
    let store: OpaquePointer

    init(at path: String) {
        store = sqlcipher_open(path)
        name = "SQLCipher \(String(cString: sqlcipher_version(store)))"
    }

    func write(_ keys: Keys, _ value: [UInt8]) {
        sqlcipher_write(store, keys.packed, keys.names.count, value, value.count)
    }

    func read(_ keys: Keys) { keys.readEach { sqlcipher_read(store, $0, $1, Sizes.value) } }
}

enum Sizes {
    static let value = 256
}
