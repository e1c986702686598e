import Glibc
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

/// `limit DIRECTORY KEYFILE BYTES`: may make no file longer than that; writes until it cannot, prints `done NUMBER`
/// for each transaction that is durable and `failed CODE`, then reads all and prints `content NUMBER`.
func writeUntilFull(at place: Place) async throws {
    signal(SIGXFSZ, SIG_IGN)
    var limit = rlimit(rlim_cur: rlim_t(place.number(0, 1 << 20)), rlim_max: rlim_t(place.number(0, 1 << 20)))
    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    let store = try await place.open()
    let workload = Workload(writer: 0, longest: 20_000)
    var transaction = 0
    do {
        while transaction < 10_000 {
            try await workload.perform(transaction + 1, in: store)
            transaction += 1
            say("done \(transaction)")
        }
    } catch let error as StoreError {
        say("failed \(error.code)")
    }
    let isWhole = try workload.content(of: store) == workload.expected(after: transaction)
    say(isWhole ? "content \(try workload.transactions(in: store))" : "other content")
    store.close()
}
