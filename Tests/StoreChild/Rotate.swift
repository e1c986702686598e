import SallyportSecureStore
import StoreWorkload

/// `rotate DIRECTORY KEYFILE`: opens for writing and prints `open`; then, for each input line, `begin` makes a data key
/// and performs a transaction with it, `finish` encrypts all records with it, and either prints `done`.
func rotate(at place: Place) async throws {
    var options = StoreOptions()
    options.rotatesInBackground = false
    let store = try await place.open(options)
    let workload = Workload(writer: 0)
    say("open")
    while let line = readLine() {
        switch line {
        case "begin":
            try await store.rotateDataKey()
            let last = try workload.transactions(in: store)
            try await workload.perform(last + 1, in: store)
        case "finish": try await store.finishRotation()
        default: return
        }
        say("done")
    }
    store.close()
}
