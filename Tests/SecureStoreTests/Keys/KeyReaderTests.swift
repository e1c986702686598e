import Crypto
import Dispatch
import Synchronization
import Testing

@testable import SallyportSecureStore

/// A store that is open read-only reads the file of the keys again when it meets a data key that it does not know.
@Suite(.timeLimit(.minutes(1))) struct KeyReaderTests {
    private let fixture: StoreFixture

    init() throws { fixture = try StoreFixture() }

    private func openIdle() async throws -> SecureStore {
        var options = StoreOptions()
        options.rotatesInBackground = false
        return try await fixture.open(options)
    }

    /// The keys as they are now, and from then on as this protector gives them.
    private func reader(asking protector: some KeyProtector) throws -> KeyRing {
        let (ring, _) = try KeyRingFile.open(in: fixture.directory, protectedBy: .keyFile(fixture.keyFile))
        ring.follow(KeyReader(path: fixture.directory, protector: protector, memory: ring.memory))
        return ring
    }

    @Test func aProtectorIsAskedOnceByThreadsThatMeetANewKeyTogether() async throws {
        let store = try await openIdle()
        let (second, begun) = (DispatchSemaphore(value: 0), AsyncStream<Void>.makeStream())
        let protector = CountingProtector(KeyFileProtector(path: fixture.keyFile)) { call in
            guard call == 1 else {
                second.signal()
                return
            }
            // The first call lasts until there is a second one, if there is any.
            begun.continuation.finish()
            _ = second.wait(timeout: .now() + .milliseconds(300))
        }
        let ring = try reader(asking: protector)
        try await store.rotateDataKey()
        async let one = Self.isKnown(2, to: ring)
        for await _ in begun.stream {}
        async let other = Self.isKnown(2, to: ring)
        let known = await [one, other]
        #expect(known == [true, true])
        #expect(protector.calls == 1)
    }

    /// On a thread that may wait.
    private static func isKnown(_ id: UInt32, to ring: KeyRing) async -> Bool {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: ring.dataKey(id: id) != nil) }
        }
    }

    @Test func aProtectorThatIsTheWrongOneIsAskedOnceForEachFile() async throws {
        let store = try await openIdle()
        let protector = CountingProtector(KeyFileProtector(path: fixture.keyFile))
        let ring = try reader(asking: protector)
        try await store.changeProtector(to: .keyFile("\(fixture.path)/other"))
        try await store.rotateDataKey()
        for _ in 0..<3 {
            #expect(ring.dataKey(id: 2) == nil)
            #expect(ring.failure(ofKey: 2)?.code == .wrongKey)
        }
        #expect(protector.calls == 1)
        try await store.changeProtector(to: .keyFile(fixture.keyFile))
        #expect(ring.dataKey(id: 2) != nil)
        #expect(ring.failure(ofKey: 2) == nil)
        #expect(protector.calls == 2)
    }
}

/// A protector that counts the calls for its key.
private final class CountingProtector: KeyProtector {
    private let original: KeyFileProtector
    private let count = Atomic(0)
    private let called: @Sendable (_ number: Int) -> Void

    init(_ original: KeyFileProtector, called: @escaping @Sendable (_ number: Int) -> Void = { _ in }) {
        (self.original, self.called) = (original, called)
    }

    var calls: Int { count.load(ordering: .relaxed) }
    var kind: String { original.kind }

    func makeWrappingKey() throws(StoreError) -> (key: SymmetricKey, parameters: [UInt8]) {
        try original.makeWrappingKey()
    }

    func wrappingKey(parameters: [UInt8]) throws(StoreError) -> SymmetricKey {
        called(count.add(1, ordering: .relaxed).newValue)
        return try original.wrappingKey(parameters: parameters)
    }

    func destroySecret(inDirectory path: String) throws(StoreError) { try original.destroySecret(inDirectory: path) }
}
