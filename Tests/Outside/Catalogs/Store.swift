import SallyportSecureStore

struct Note: Codable, Sendable {
    var text: String
}

/// Keeps a note, and reads it again.
func keepNote(in path: String, protectedByKeyAt key: String) async throws -> String? {
    let store = try await SecureStore.open(at: path, protectedBy: .keyFile(key))
    let notes = store.collection("notes", of: Note.self)
    try await store.write { try $0.set(Note(text: "buy milk"), for: "today", in: notes) }
    let note = try store.read { try $0.value(for: "today", in: notes) }
    store.close()
    return note?.text
}
