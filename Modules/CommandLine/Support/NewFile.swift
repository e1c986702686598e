import Glibc

/// Files that a command creates. A command that fails, or is killed, leaves none that is not whole (``DraftFile``).
enum NewFile {
    /// Writes a file that must not exist yet.
    ///
    /// - Parameter option: the option that names the file of a secret; see ``InputFile/bytes(_:limit:ofSecret:)``.
    static func write(
        _ text: String, to path: String, mode: mode_t, ofSecret option: String? = nil
    ) throws(CommandFailure) {
        try write(Array(text.utf8), to: path, mode: mode, ofSecret: option)
    }

    /// Writes files that must not exist yet: all of them or, if one cannot be written, none.
    static func write(_ files: [(text: String, path: String, mode: mode_t)]) throws(CommandFailure) {
        var drafts: [DraftFile] = []
        for file in files {
            let draft = try DraftFile(file.path, mode: file.mode)
            try draft.write(Array(file.text.utf8))
            drafts.append(draft)
        }
        for draft in drafts { try draft.publish() }
        for draft in drafts { draft.keep() }
    }

    /// Writes a file that must not exist yet.
    static func write(
        _ bytes: [UInt8], to path: String, mode: mode_t, ofSecret option: String? = nil
    ) throws(CommandFailure) {
        let draft = try DraftFile(path, mode: mode, ofSecret: option)
        try draft.write(bytes)
        try draft.publish()
        draft.keep()
    }
}
