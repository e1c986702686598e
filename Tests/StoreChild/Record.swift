import DiskRecorder
import SallyportSecureStore
import StoreWorkload

/// `record DIRECTORY KEYFILE SCENARIO`: does something to a store while every change to its files is written down,
/// and says in between what must be there from then on.
func record(at place: Place) async throws {
    disk_recorder_start()
    switch place.rest.first {
    case "write": try await recordWriting(at: place)
    case "growth": try await recordGrowth(at: place)
    case "rotate": try await recordRotation(at: place)
    case "wipe": try await recordWipe(at: place)
    case "restore": try await recordRestore(at: place)
    case "compact": try await recordCompaction(at: place)
    case "group": try await recordGroup(at: place)
    default: say("error no scenario")
    }
}

/// Creation, page splits, values of their own pages, removals, use of free pages, two writers, an opening anew.
private func recordWriting(at place: Place) async throws {
    for _ in 0..<3 {
        let store = try await place.open()
        say("open")
        try await perform(12, [Workload(writer: 0), Workload(writer: 1)], in: store)
        store.close()
    }
}

private func recordGrowth(at place: Place) async throws {
    let store = try await place.open()
    say("open")
    try await perform(10, [Workload(writer: 2, longest: 400_000)], in: store)
    store.close()
}

private func recordRotation(at place: Place) async throws {
    let store = try await place.open()
    say("open")
    for _ in 0..<3 {
        try await perform(6, [Workload(writer: 0)], in: store)
        try await store.rotateDataKey()
        try await perform(2, [Workload(writer: 0)], in: store)
        try await store.finishRotation()
    }
    store.close()
}

private func recordWipe(at place: Place) async throws {
    let store = try await place.open()
    say("open")
    try await perform(6, [Workload(writer: 0)], in: store)
    say("wiping")
    try await store.wipe()
    say("wiped")
}

private func recordRestore(at place: Place) async throws {
    let backup = "\(place.directory)-backup"
    var store = try await place.open()
    say("open")
    try await perform(5, [Workload(writer: 0)], in: store)
    _ = try await store.backup(to: backup)
    try await perform(5, [Workload(writer: 0)], in: store)
    store.close()
    say("restoring 5")
    _ = try await SecureStore.restore(from: backup, to: place.directory, protectedBy: .keyFile(place.keyFile))
    say("restored 5")
    store = try await place.open()
    try await perform(4, [Workload(writer: 0)], in: store)
    store.close()
}

private func recordCompaction(at place: Place) async throws {
    var store = try await place.open()
    say("open")
    try await perform(12, [Workload(writer: 0)], in: store)
    store.close()
    _ = try await SecureStore.compact(at: place.directory, protectedBy: .keyFile(place.keyFile))
    store = try await place.open()
    try await perform(4, [Workload(writer: 0)], in: store)
    store.close()
}

private func perform(_ transactions: Int, _ workloads: [Workload], in store: SecureStore) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for workload in workloads {
            group.addTask {
                let first = try workload.transactions(in: store) + 1
                for transaction in first..<first + transactions {
                    say("begin \(workload.writer) \(transaction)")
                    try await workload.perform(transaction, in: store)
                    say("done \(workload.writer) \(transaction)")
                }
            }
        }
        try await group.waitForAll()
    }
}
