internal import SallyportCore
internal import SallyportSecureStore

/// The persistent cookies of one jar in the store, under a reserved name.
struct CookieStorage: Sendable {
    let store: SecureStore
    private let name: String?
    private let cookies: StoreCollection<UInt64, [UInt8]>
    /// The list of the jars, by name.
    private let jars: StoreCollection<String, [UInt8]>

    /// - Parameter name: nil for the instance's jar.
    init(_ store: SecureStore, jar name: String?) {
        self.store = store
        self.name = name
        cookies = store.reservedCollection(
            name.map { "cookies/\($0)" } ?? "cookies", of: [UInt8].self, keyedBy: UInt64.self)
        jars = Self.jars(of: store)
    }

    private static func jars(of store: SecureStore) -> StoreCollection<String, [UInt8]> {
        store.reservedCollection("cookies.jars", of: [UInt8].self)
    }

    /// The names of the jars that have, or had, a cookie.
    static func names(in store: SecureStore) throws -> [String] {
        try store.read { try $0.keys(in: jars(of: store)) }
    }

    /// A change to a cookie's record.
    enum Change: Sendable {
        case put([UInt8])
        case remove
    }

    /// All readable cookies, and the number of unreadable ones: a damaged cookie is lost.
    func load() throws -> (records: [CookieRecord], lost: Int) {
        var (records, lost): ([CookieRecord], Int) = ([], 0)
        try store.read { transaction in
            try transaction.forEachSound(in: cookies) { number, bytes in
                if let record = CookieRecord(bytes, number: number) { records.append(record) } else { lost += 1 }
            } damaged: {
                lost += 1
            }
        }
        return (records, lost)
    }

    /// One transaction, durable on return. The transactions of one actor keep their order.
    func write(
        _ changes: [UInt64: Change], isolation: isolated (any Actor)? = #isolation
    ) async throws {
        let (cookies, jars, name) = (cookies, jars, name)
        try await store.write { transaction in
            for (number, change) in changes.sorted(by: { $0.key < $1.key }) {
                switch change {
                case .put(let bytes): try transaction.set(bytes, for: number, in: cookies)
                case .remove: try transaction.remove(number, from: cookies)
                }
            }
            if let name, try transaction.value(for: name, in: jars) == nil {
                try transaction.set([], for: name, in: jars)
            }
        }
    }
}
