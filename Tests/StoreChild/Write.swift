import SallyportSecureStore
import StoreWorkload

/// `write DIRECTORY KEYFILE [WRITERS] [TRANSACTIONS] [LONGEST]`: every writer goes on from where the store is; prints
/// `open`, and for each transaction `begin WRITER NUMBER` before and `done WRITER NUMBER` once it is durable.
func write(at place: Place) async throws {
    let store = try await place.open()
    say("open")
    let transactions = place.number(1, Int.max / 2)
    try await withThrowingTaskGroup(of: Void.self) { group in
        for writer in 0..<place.number(0, 1) {
            group.addTask {
                let workload = Workload(writer: writer, longest: place.number(2, 600))
                let first = try workload.transactions(in: store) + 1
                for transaction in first..<first + transactions {
                    say("begin \(writer) \(transaction)")
                    try await workload.perform(transaction, in: store)
                    say("done \(writer) \(transaction)")
                }
            }
        }
        try await group.waitForAll()
    }
    store.close()
    say("closed")
}

/// `hold DIRECTORY KEYFILE`: opens for writing, prints `open`, and waits for the end of its input.
func hold(at place: Place) async throws {
    let store = try await place.open()
    say("open")
    while readLine() != nil {}
    store.close()
}

/// `look DIRECTORY KEYFILE`: opens read-only, takes a snapshot, prints `open`, and waits for the end of its input.
func look(at place: Place) async throws {
    let store = try await place.open(.readOnly)
    let records = Workload(writer: 0).records(in: store)
    let count = try store.read { snapshot in
        let count = try snapshot.count(of: records)
        say("open \(count)")
        while readLine() != nil {}
        return try snapshot.all(in: records).count
    }
    say("read \(count)")
}
