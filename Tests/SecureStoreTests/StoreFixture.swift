import FoundationEssentials
import Glibc
import SallyportSecureStore
import StoreWorkload

/// A directory of its own for each test, removed with it.
final class StoreFixture: Sendable {
    let path: String
    var directory: String { "\(path)/store" }
    var keyFile: String { "\(path)/key" }

    init() throws {
        let parent = FileManager.default.temporaryDirectory
        path = parent.appending(path: "sallyport-store-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func open(_ options: StoreOptions = StoreOptions()) async throws(StoreError) -> SecureStore {
        try await SecureStore.open(at: directory, protectedBy: .keyFile(keyFile), options: options)
    }

    let workload = Workload(writer: 0)

    /// Leaves a store in which the workload's first transactions were performed.
    func fill(_ transactions: Int) async throws {
        let store = try await open()
        for transaction in 1...transactions { try await workload.perform(transaction, in: store) }
        store.close()
    }

    /// Every byte of every file in the store's directory.
    func rawBytes() throws -> [UInt8] {
        try FileManager.default.contentsOfDirectory(atPath: directory).flatMap { name in
            try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
        }
    }

    func contains(_ text: String) throws -> Bool {
        let needle = Array(text.utf8)
        return try rawBytes().firstRange(of: needle) != nil
    }
}

extension Array where Element == UInt8 {
    func firstRange(of needle: [UInt8]) -> Range<Int>? {
        guard needle.count <= count else { return nil }
        return (0...count - needle.count).first { start in
            self[start] == needle[0] && self[start..<start + needle.count].elementsEqual(needle)
        }.map { $0..<$0 + needle.count }
    }
}

struct Profile: Codable, Sendable, Equatable {
    var name: String
    var age: Int
}
