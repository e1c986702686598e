import OutsideChecks
import SallyportSecureStore

/// The store alone: an app's data, encrypted, and no network code in the program.
///
///     OutsideStore DIRECTORY
@main
struct OutsideStore {
    static func main() async throws {
        let directory = argument(1, "OutsideStore DIRECTORY")
        let (path, key) = ("\(directory)/store", "\(directory)/key")

        let first = try await SecureStore.open(at: path, protectedBy: .keyFile(key))
        let notes = first.collection("notes", of: String.self)
        try await first.write { try $0.set("buy milk", for: "today", in: notes) }
        first.close()

        let second = try await SecureStore.open(at: path, protectedBy: .keyFile(key))
        let again = second.collection("notes", of: String.self)
        let note = try second.read { try $0.value(for: "today", in: again) }
        show("what was written is there when the store is opened again", note == "buy milk")
        second.close()

        do throws(StoreError) {
            try await SecureStore.open(at: path, protectedBy: .keyFile("\(directory)/another-key")).close()
            show("another key opens nothing", false)
        } catch {
            show("another key opens nothing: \(error.code)", true)
        }
    }
}
