import Foundation
import SallyportGateway
import SallyportSecureStore
import TestSupport

/// The stores of the stage, sound ones and others. The key of each is the file `key` in it.
enum MessageStores {
    /// The path of the store of this name; nil for another name.
    static func make(_ name: String, in folder: TemporaryDirectory) async throws -> String? {
        let path = folder.file(name)
        switch name {
        case "data":
            try await Gateway.create(at: path, name: "localhost", protectedBy: .keyFile("\(path)/key"))
            return path
        case "wiped":
            try await open(path).wipe()
            return path
        case "backup":
            let store = try await open(folder.file("original"))
            defer { store.close() }
            _ = try await store.backup(to: path)
            return path
        default:
            guard let harm = harms[name] else { return nil }
            try await open(path).close()
            try harm(path)
            return path
        }
    }

    static func open(_ path: String) async throws -> SecureStore {
        let store = try await SecureStore.open(at: path, protectedBy: .keyFile("\(path)/key"))
        let texts = store.collection("texts", of: String.self)
        try await store.write { try $0.set("a", for: "a", in: texts) }
        return store
    }

    /// What becomes of a sound store.
    private static let harms: [String: @Sendable (String) throws -> Void] = [
        "store": { _ in },
        "restored": { _ in },
        "exposed-store": { path in chmod(path, 0o755) },
        "damaged-store": { path in
            try Data(repeating: 0x5a, count: 65536).write(to: URL(filePath: "\(path)/data.mdb"))
        },
        "altered-store": { path in
            let file = URL(filePath: "\(path)/data.mdb")
            var bytes = try Data(contentsOf: file)
            guard let last = bytes.lastIndex(where: { $0 != 0 }) else { throw Unexpected("The store is empty.") }
            bytes[last] ^= 1
            try bytes.write(to: file)
        },
        "store-without-data": { path in try FileManager.default.removeItem(atPath: "\(path)/data.mdb") },
        "store-without-keys": { path in try FileManager.default.removeItem(atPath: "\(path)/keys") },
        "store-with-a-directory-of-keys": { path in
            try FileManager.default.removeItem(atPath: "\(path)/keys")
            try FileManager.default.createDirectory(atPath: "\(path)/keys", withIntermediateDirectories: false)
        },
        "store-of-another-version": { path in
            let file = URL(filePath: "\(path)/keys")
            var bytes = try Data(contentsOf: file)
            bytes[7] ^= 1
            try bytes.write(to: file)
        },
        "store-with-other-keys": { path in
            try Data("no keys".utf8).write(to: URL(filePath: "\(path)/keys"))
        },
    ]
}
