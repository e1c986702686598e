// A notebook that keeps its notes encrypted: the store alone, with no network code in the program.
//
//     StoreAlone DIRECTORY add TITLE TEXT
//     StoreAlone DIRECTORY list
//     StoreAlone DIRECTORY remove TITLE
//     StoreAlone DIRECTORY backup TARGET
//     StoreAlone DIRECTORY verify
//
// The key is a file beside the directory, DIRECTORY.key: anyone with both can read the notes.
import Glibc
import SallyportSecureStore

struct Note: Codable {
    var text: String
    var revisions: Int
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count >= 2 else {
    print("usage: StoreAlone DIRECTORY add TITLE TEXT | list | remove TITLE | backup TARGET | verify")
    exit(64)
}

do {
    let store = try await SecureStore.open(at: arguments[0], protectedBy: .keyFile("\(arguments[0]).key"))
    defer { store.close() }
    let notes = store.collection("notes", of: Note.self)
    switch (arguments[1], arguments.dropFirst(2).map { $0 }) {
    case ("add", let words) where words.count == 2:
        try await store.write { transaction in
            let old = try transaction.value(for: words[0], in: notes)
            let note = Note(text: words[1], revisions: (old?.revisions ?? 0) + 1)
            try transaction.set(note, for: words[0], in: notes)
        }
    case ("list", _):
        try store.read { snapshot in
            try snapshot.forEachInOrder(in: notes) { title, note in
                print("\(title) (\(note.revisions)): \(note.text)")
                return true
            }
        }
    case ("remove", let words) where words.count == 1:
        try await store.write { try $0.remove(words[0], from: notes) }
    case ("backup", let words) where words.count == 1:
        print("\(try await store.backup(to: words[0]).records) records")
    case ("verify", _):
        let report = try await store.verify()
        print(report.isSound ? "sound" : report.findings.map(\.description).joined(separator: "\n"))
    default:
        print("That is not a command.")
        exit(64)
    }
} catch {
    print("\(error)")
    exit(1)
}
