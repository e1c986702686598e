package import SallyportSecureStore

/// What a writer does in its transactions, and what must be in the store after any number of them: the same in the
/// process that writes and in the test that looks afterwards.
///
/// Each transaction sets and removes records and sets a counter, so that a store tells how many there were.
package struct Workload: Sendable {
    package typealias Records = StoreCollection<Int64, [UInt8]>

    /// The key of the counter.
    package static let counter: Int64 = -1

    package let writer: Int
    /// Keys are below.
    package var keys: Int64 = 200
    package var changes = 8
    /// The longest value, in bytes; a few are 16 times as long.
    package let longest: Int

    package init(writer: Int, longest: Int = 600) {
        self.writer = writer
        self.longest = longest
    }

    package func records(in store: SecureStore) -> Records {
        store.collection("writer \(writer)", of: [UInt8].self, keyedBy: Int64.self)
    }

    /// What a transaction changes; nil removes.
    package func changes(of transaction: Int) -> [(key: Int64, value: [UInt8]?)] {
        var random = SeededGenerator(seed: UInt64(writer) << 40 | UInt64(transaction))
        return (0..<changes).map { _ in
            let key = Int64.random(in: 0..<keys, using: &random)
            guard Int.random(in: 0..<4, using: &random) > 0 else { return (key, nil) }
            let isLong = Int.random(in: 0..<24, using: &random) == 0
            let length = Int.random(in: 0...(isLong ? longest * 16 : longest), using: &random)
            return (key, Self.value(key: key, seed: UInt64.random(in: 0...UInt64.max, using: &random), length: length))
        }
    }

    package static func value(key: Int64, seed: UInt64, length: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(length + 8)
        var random = SeededGenerator(seed: seed &+ UInt64(bitPattern: key))
        while bytes.count < min(length, 512) {
            let word = random.next()
            bytes += (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64($0 * 8)) }
        }
        // Long ones repeat their beginning, which is quick to make.
        while bytes.count < length { bytes += bytes }
        return Array(bytes.prefix(length))
    }

    /// Performs a transaction, and returns once it is durable.
    package func perform(_ transaction: Int, in store: SecureStore) async throws {
        let records = records(in: store)
        let changes = changes(of: transaction)
        try await store.write { write in
            for (key, value) in changes {
                if let value {
                    try write.set(value, for: key, in: records)
                } else {
                    try write.remove(key, from: records)
                }
            }
            try write.set(Array("\(transaction)".utf8), for: Self.counter, in: records)
        }
    }

    /// How many transactions the store holds.
    package func transactions(in store: SecureStore) throws -> Int {
        let records = records(in: store)
        let bytes = try store.read { try $0.value(for: Self.counter, in: records) }
        return bytes.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
    }

    /// What the store holds.
    package func content(of store: SecureStore) throws -> [Int64: [UInt8]] {
        let records = records(in: store)
        return Dictionary(uniqueKeysWithValues: try store.read { try $0.all(in: records) })
    }

    /// What a store holds after the first transactions.
    package func expected(after transactions: Int) -> [Int64: [UInt8]] {
        var content: [Int64: [UInt8]] = [:]
        for transaction in 0..<transactions { apply(transaction + 1, to: &content) }
        return content
    }

    package func apply(_ transaction: Int, to content: inout [Int64: [UInt8]]) {
        for (key, value) in changes(of: transaction) { content[key] = value }
        content[Self.counter] = Array("\(transaction)".utf8)
    }
}
