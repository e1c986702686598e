import FoundationEssentials
import SallyportSecureStore
import Testing

/// The store against plain dictionaries: random transactions on three collections, one of them ordered, some of which
/// throw, some together; expiry, streams, sweeps, rotations, snapshots that are held meanwhile, and reopenings.
@Suite struct ModelTests {
    @Test(arguments: 1...UInt64(Soak.cases(8, of: 200)))
    func theStoreAgreesWithADictionary(_ seed: UInt64) async throws {
        var run = try await ModelRun(seed: seed)
        for _ in 0..<60 { try await run.step() }
        try await run.finish()
    }
}

private struct ModelRun {
    private struct Refused: Error {}

    /// By collection and key; what has expired is out of it.
    private typealias Model = [[Int: [UInt8]]]

    private enum Change: Sendable {
        case set(Int, Int, [UInt8])
        /// With an expiry that has passed: as good as removed.
        case setExpired(Int, Int, [UInt8])
        case setExpiring(Int, Int, [UInt8])
        case remove(Int, Int)
        case removeAll(Int)
    }

    private struct Snapshot {
        var model: Model
        var held: HeldSnapshot<Model>
    }

    private let fixture: StoreFixture
    private var store: SecureStore
    private var model: Model = [[:], [:], [:]]
    private var generator: SeededGenerator
    private var snapshots: [Snapshot] = []

    init(seed: UInt64) async throws {
        fixture = try StoreFixture()
        store = try await fixture.open()
        generator = SeededGenerator(seed: seed)
    }

    private static func collections(of store: SecureStore) -> [StoreCollection<Int, [UInt8]>] {
        zip(["a", "b", "c"], [.unordered, .ordered, .unordered] as [CollectionOrder]).map { name, order in
            store.collection(name, of: [UInt8].self, keyedBy: Int.self, order: order)
        }
    }

    private static func content(_ snapshot: ReadTransaction, _ store: SecureStore) throws -> Model {
        try collections(of: store).map { collection in
            Dictionary(uniqueKeysWithValues: try snapshot.all(in: collection))
        }
    }

    mutating func step() async throws {
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: try await reopen()
        case 1: try await store.sweep()
        case 2: try await store.rotateDataKey()
        case 3: try await store.finishRotation()
        case 4, 5: try await holdSnapshot()
        case 6: try await releaseSnapshots()
        case 7: try await stream()
        case 8, 9: try await writeTogether()
        case 10: try await writeAndThrow()
        default: try await write()
        }
        try check()
    }

    private mutating func write() async throws {
        let (changes, collections) = (changes(), Self.collections(of: store))
        try await store.write { transaction in
            try Self.perform(changes, in: transaction, collections)
        }
        apply(changes)
    }

    private mutating func writeAndThrow() async throws {
        let (changes, collections) = (changes(), Self.collections(of: store))
        await #expect(throws: Refused.self) {
            try await store.write { transaction in
                try Self.perform(changes, in: transaction, collections)
                throw Refused()
            }
        }
    }

    /// Writers that do not touch the same collection, so that any order gives the same.
    private mutating func writeTogether() async throws {
        let collections = Self.collections(of: store)
        let parts = (0..<3).map { index in changes(in: index) }
        let store = store
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in parts {
                group.addTask { try await store.write { try Self.perform(part, in: $0, collections) } }
            }
            try await group.waitForAll()
        }
        for part in parts { apply(part) }
    }

    private mutating func stream() async throws {
        let key = Int.random(in: 0..<12, using: &generator)
        let length = Int.random(in: 0..<300_000, using: &generator)
        let byte = UInt8.random(in: 0...255, using: &generator)
        let chunk = [UInt8](repeating: byte, count: length / 3)
        let chunks = AsyncStream { continuation in
            for _ in 0..<3 { continuation.yield(chunk) }
            continuation.finish()
        }
        try await store.write(chunks, for: key, in: Self.collections(of: store)[0])
        model[0][key] = [UInt8](repeating: byte, count: chunk.count * 3)
    }

    private mutating func holdSnapshot() async throws {
        guard snapshots.count < 3 else { return try await releaseSnapshots() }
        let store = store
        let held = await HeldSnapshot(of: store) { try Self.content($0, store) }
        snapshots.append(Snapshot(model: model, held: held))
    }

    private mutating func releaseSnapshots() async throws {
        for snapshot in snapshots {
            #expect(try await snapshot.held.release() == snapshot.model, "a snapshot changed")
        }
        snapshots = []
    }

    private mutating func reopen() async throws {
        try await releaseSnapshots()
        store.close()
        store = try await fixture.open()
    }

    private func check() throws {
        let found = try store.read { snapshot in
            for (index, collection) in Self.collections(of: store).enumerated() {
                try snapshot.verify(collection)
                let keys = try snapshot.keys(in: collection)
                #expect(keys == model[index].keys.sorted())
                for key in 0..<12 { #expect(try snapshot.value(for: key, in: collection) == model[index][key]) }
            }
            return try Self.content(snapshot, store)
        }
        #expect(found == model)
    }

    mutating func finish() async throws {
        try await releaseSnapshots()
        try await store.sweep()
        try await store.finishRotation()
        let counts = try store.read { snapshot in
            try Self.collections(of: store).map { try snapshot.count(of: $0) }
        }
        #expect(counts == model.map(\.count))
        try await reopen()
        try check()
        #expect(try await store.verify().isSound)
        store.close()
    }

    // MARK: Changes

    private mutating func changes(in collection: Int? = nil) -> [Change] {
        (0..<Int.random(in: 1...8, using: &generator)).map { _ in
            let index = collection ?? Int.random(in: 0..<3, using: &generator)
            let key = Int.random(in: 0..<12, using: &generator)
            // Now and then one that takes pages of its own.
            let length = Int.random(in: 0..<8, using: &generator) == 0 ? 9000 : 40
            let byte = UInt8.random(in: 0...255, using: &generator)
            let value = [UInt8](repeating: byte, count: Int.random(in: 0..<length, using: &generator))
            switch Int.random(in: 0..<16, using: &generator) {
            case 0: return .removeAll(index)
            case 1...4: return .remove(index, key)
            case 5: return .setExpired(index, key, value)
            case 6: return .setExpiring(index, key, value)
            default: return .set(index, key, value)
            }
        }
    }

    private static func perform(
        _ changes: [Change], in transaction: WriteTransaction, _ collections: [StoreCollection<Int, [UInt8]>]
    ) throws {
        for change in changes {
            switch change {
            case .set(let index, let key, let value):
                try transaction.set(value, for: key, in: collections[index])
                #expect(try transaction.value(for: key, in: collections[index]) == value)
            case .setExpired(let index, let key, let value):
                try transaction.set(value, for: key, in: collections[index], expiresAt: Date() - 1)
            case .setExpiring(let index, let key, let value):
                try transaction.set(value, for: key, in: collections[index], expiresAt: Date() + 3600)
            case .remove(let index, let key): try transaction.remove(key, from: collections[index])
            case .removeAll(let index): try transaction.removeAll(from: collections[index])
            }
        }
    }

    private mutating func apply(_ changes: [Change]) {
        for change in changes {
            switch change {
            case .set(let index, let key, let value), .setExpiring(let index, let key, let value):
                model[index][key] = value
            case .setExpired(let index, let key, _), .remove(let index, let key): model[index][key] = nil
            case .removeAll(let index): model[index] = [:]
            }
        }
    }
}
