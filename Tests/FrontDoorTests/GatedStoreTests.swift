import FoundationEssentials
import SallyportCore
import SallyportSecureStore
import Testing

@testable import Sallyport

/// A gate that a test opens and closes.
private final class Gate: AccessGate {
    private let denied = Lock<AccessDenied?>(nil)

    func close(_ denied: AccessDenied?) { self.denied.withLock { $0 = denied } }

    func access(to endpoint: Endpoint) throws(AccessDenied) -> ServerAccess { throw AccessDenied(.notAuthorized) }
    func checkAuthorized() throws(AccessDenied) { if let denied = denied.withLock({ $0 }) { throw denied } }
    func onWithdrawal(_ observer: @escaping @Sendable (AccessDenied) -> Void) -> WithdrawalObservation {
        WithdrawalObservation {}
    }
}

@Suite(.timeLimit(.minutes(1))) struct GatedStoreTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "sallyport-\(UUID())").path

    private func withStore(_ body: (GatedStore, Gate, SecureStore) async throws -> Void) async throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: path) }
        let store = try await SecureStore.open(at: "\(path)/store", protectedBy: .keyFile("\(path)/key"))
        defer { store.close() }
        let gate = Gate()
        try await body(GatedStore(store, gate: gate), gate, store)
    }

    @Test func anAuthorizedAppReadsAndWrites() async throws {
        try await withStore { gated, _, _ in
            let notes = gated.collection("notes", of: String.self)
            try await gated.write { try $0.set("one", for: "a", in: notes) }
            let value = try gated.read { try $0.value(for: "a", in: notes) }
            #expect(value == "one")
        }
    }

    @Test(arguments: [
        AccessDenied(.notAuthorized), AccessDenied(.withdrawn, code: .blocked),
        AccessDenied(.withdrawn, code: .remoteLockout), AccessDenied(.withdrawn, code: .wiped),
    ])
    func aClosedGateRefusesAndKeepsTheData(_ denied: AccessDenied) async throws {
        try await withStore { gated, gate, _ in
            let notes = gated.collection("notes", of: String.self)
            try await gated.write { try $0.set("one", for: "a", in: notes) }
            gate.close(denied)
            #expect(throws: denied) { try gated.read { try $0.value(for: "a", in: notes) } }
            await #expect(throws: denied) { try await gated.write { try $0.remove("a", from: notes) } }
            gate.close(nil)
            let value = try gated.read { try $0.value(for: "a", in: notes) }
            #expect(value == "one")
        }
    }

    /// The withdrawal comes while another writer has its turn.
    @Test func aWriteThatWaitsForItsTurnIsRefusedToo() async throws {
        try await withStore { gated, gate, store in
            let notes = gated.collection("notes", of: String.self)
            await withTaskGroup { group in
                group.addTask {
                    try? await store.write { _ in gate.close(AccessDenied(.withdrawn, code: .wiped)) }
                }
                await group.waitForAll()
            }
            await #expect(throws: AccessDenied.self) { try await gated.write { try $0.set("x", for: "a", in: notes) } }
            gate.close(nil)
            let value = try gated.read { try $0.value(for: "a", in: notes) }
            #expect(value == nil)
        }
    }
}
