import Dispatch
import FoundationEssentials
import SallyportBase
import SallyportCore
import TestSupport
import Testing

@testable import Sallyport
@testable import SallyportSecureStore

@Suite(.timeLimit(.minutes(1))) struct GatedStoreTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func withStore(_ body: (GatedStore, StubGate, SecureStore) async throws -> Void) async throws {
        let store = try await SecureStore.open(at: folder.file("store"), protectedBy: .keyFile(folder.file("key")))
        defer { store.close() }
        let gate = StubGate()
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

    @Test func aWriteThatWaitsForItsTurnIsRefusedToo() async throws {
        try await withStore { gated, gate, store in
            let notes = gated.collection("notes", of: String.self)
            try await withdraw(gate, from: store) {
                try await gated.write { try $0.set("x", for: "a", in: notes) }
            }
            let value = try gated.read { try $0.value(for: "a", in: notes) }
            #expect(value == nil)
        }
    }

    /// Closes the gate while another writer has its turn, so that `write` waits, and opens it when that was refused.
    private func withdraw(
        _ gate: StubGate, from store: SecureStore, before write: @escaping @Sendable () async throws -> Void
    ) async throws {
        let (hasTurn, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        async let other: Void = store.write { _ in
            hasTurn.signal()
            mayEnd.wait()
        }
        await Self.wait(for: hasTurn)
        let task = Task { try await write() }
        #expect(try await eventually { store.writer?.waiting == 1 })
        gate.close(AccessDenied(.withdrawn, code: .wiped))
        mayEnd.signal()
        try await other
        await #expect(throws: AccessDenied.self) { try await task.value }
        gate.close(nil)
    }

    private static func wait(for semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                semaphore.wait()
                continuation.resume()
            }
        }
    }

    // MARK: Streams

    private func chunks(_ count: Int) -> AsyncStream<[UInt8]> {
        AsyncStream { continuation in
            for byte in 0..<count { continuation.yield([UInt8](repeating: UInt8(byte), count: 100_000)) }
            continuation.finish()
        }
    }

    @Test func anAuthorizedAppStreams() async throws {
        try await withStore { gated, _, _ in
            let large = gated.collection("large", of: [UInt8].self, order: .ordered)
            let length = try await gated.write(chunks(3), for: "a", in: large)
            #expect(length == 300_000)
            var bytes = 0
            for try await chunk in try #require(try gated.chunks(of: "a", in: large)) { bytes += chunk.count }
            #expect(bytes == 300_000)
        }
    }

    @Test func aWithdrawalEndsAStreamThatIsRead() async throws {
        try await withStore { gated, gate, _ in
            let large = gated.collection("large", of: [UInt8].self)
            try await gated.write(chunks(3), for: "a", in: large)
            var iterator = try #require(try gated.chunks(of: "a", in: large)).makeAsyncIterator()
            #expect(try await iterator.next() != nil)
            gate.close(AccessDenied(.withdrawn, code: .blocked))
            await #expect(throws: AccessDenied.self) { _ = try await iterator.next() }
            #expect(throws: AccessDenied.self) { _ = try gated.chunks(of: "a", in: large) }
        }
    }

    @Test func aWithdrawalLeavesTheOldValueOfAStreamThatIsWritten() async throws {
        try await withStore { gated, gate, _ in
            let large = gated.collection("large", of: [UInt8].self)
            try await gated.write { try $0.set([7], for: "a", in: large) }
            let withdrawing = AsyncStream<[UInt8]> {
                gate.close(AccessDenied(.withdrawn, code: .blocked))
                return nil
            }
            await #expect(throws: AccessDenied.self) { try await gated.write(withdrawing, for: "a", in: large) }
            gate.close(nil)
            let value = try gated.read { try $0.value(for: "a", in: large) }
            #expect(value == [7])
        }
    }

    /// As one record, and in pieces.
    @Test(arguments: [1_000, 100_000]) func aStreamThatWaitsForItsTurnIsRefusedToo(length: Int) async throws {
        try await withStore { gated, gate, store in
            let large = gated.collection("large", of: [UInt8].self)
            try await gated.write { try $0.set([7], for: "a", in: large) }
            try await withdraw(gate, from: store) {
                let chunks = AsyncStream<[UInt8]> { continuation in
                    continuation.yield([UInt8](repeating: 1, count: length))
                    continuation.finish()
                }
                try await gated.write(chunks, for: "a", in: large)
            }
            let value = try gated.read { try $0.value(for: "a", in: large) }
            #expect(value == [7])
            #expect(try store.statistics().records == 1, "The pieces are removed.")
        }
    }

    @Test func changesAndSweepsAskTheGate() async throws {
        try await withStore { gated, gate, _ in
            let notes = gated.collection("notes", of: String.self)
            var changes = try gated.changes(in: notes).makeAsyncIterator()
            let past = Date(timeIntervalSinceNow: -1)
            try await gated.write { try $0.set("one", for: "a", in: notes, expiresAt: past) }
            #expect(try await changes.next() == .set("a"))
            #expect(try await gated.sweep() == 1)
            gate.close(AccessDenied(.withdrawn, code: .blocked))
            await #expect(throws: AccessDenied.self) { _ = try await changes.next() }
            await #expect(throws: AccessDenied.self) { try await gated.sweep() }
            #expect(throws: AccessDenied.self) { _ = try gated.changes(in: notes) }
        }
    }
}
