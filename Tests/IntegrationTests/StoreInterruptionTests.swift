import Foundation
import SallyportSecureStore
import TestSupport
import Testing

/// What the commands of a store leave when they are asked to stop.
@Suite(.timeLimit(.minutes(5))) struct StoreInterruptionTests {
    private let folder: TemporaryDirectory
    private var store: String { folder.file("store") }
    private var key: String { folder.file("key") }

    /// The store is so large that a command takes a while.
    init() async throws {
        folder = try TemporaryDirectory()
        let store = try await SecureStore.open(at: folder.file("store"), protectedBy: .keyFile(folder.file("key")))
        defer { store.close() }
        let texts = store.collection("texts", of: String.self)
        let text = String(repeating: "a", count: 1 << 20)
        for part in 0..<16 {
            try await store.write { transaction in
                for number in 0..<4 { try transaction.set(text, for: "\(part) \(number)", in: texts) }
            }
        }
    }

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// A command that is over before the signal comes shows nothing, and is tried again.
    @Test(arguments: [(SIGINT, 130, "SIGINT"), (SIGTERM, 143, "SIGTERM")] as [(Int32, Int32, String)])
    func aBackupThatIsInterruptedLeavesNothing(_ signal: Int32, _ status: Int32, _ name: String) async throws {
        let target = folder.file("backup")
        for _ in 0..<20 {
            let child = try ChildProcess(
                Programs.built("sallyport"), ["store", "backup", target, "--store", store, "--key-file", key])
            let hasBegun = try await eventually { exists("\(target).partial") || !child.isRunning }
            #expect(hasBegun)
            child.signal(signal)
            let outcome = try await child.outcome()
            #expect(!exists("\(target).partial"))
            guard exists(target) else {
                #expect(outcome.status == status)
                #expect(outcome.error.contains("Ended by \(name)."), "\(outcome.error)")
                return
            }
            try FileManager.default.removeItem(atPath: target)
        }
        Issue.record("each backup was complete before it was interrupted")
    }
}
