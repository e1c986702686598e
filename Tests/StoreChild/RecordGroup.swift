import Glibc
import SallyportSecureStore
import Synchronization

/// One writer, then a hundred that wait together.
func recordGroup(at place: Place) async throws {
    let store = try await place.open()
    say("open")
    let numbers: StoreCollection<Int, Int> = store.collection("n", of: Int.self, keyedBy: Int.self)
    say("one")
    try await store.write { try $0.set(0, for: 0, in: numbers) }
    say("hundred")
    let called = Called()
    try await withThrowingTaskGroup(of: Void.self) { group in
        // Holds the writer's thread until all others have come to its queue.
        group.addTask {
            try await store.write { _ in
                called.isHeld.store(true, ordering: .sequentiallyConsistent)
                while called.count.load(ordering: .sequentiallyConsistent) < 100 { usleep(1000) }
                usleep(200_000)
            }
        }
        while !called.isHeld.load(ordering: .sequentiallyConsistent) { await Task.yield() }
        for number in 1...100 {
            group.addTask {
                called.count.add(1, ordering: .sequentiallyConsistent)
                try await store.write { try $0.set(number, for: number, in: numbers) }
            }
        }
        try await group.waitForAll()
    }
    say("end")
    store.close()
}

private final class Called: Sendable {
    let isHeld = Atomic(false)
    let count = Atomic(0)
}
