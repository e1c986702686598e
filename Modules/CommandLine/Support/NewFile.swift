import Glibc

/// Files that a command creates.
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
        var written: [String] = []
        do throws(CommandFailure) {
            for file in files {
                try write(file.text, to: file.path, mode: file.mode)
                written.append(try Workplace.current.path(file.path))
            }
        } catch {
            for place in written { unlink(place) }
            throw error
        }
    }

    /// Writes a file that must not exist yet. One that cannot be written whole is removed.
    static func write(
        _ bytes: [UInt8], to path: String, mode: mode_t, ofSecret option: String? = nil
    ) throws(CommandFailure) {
        let place = try Workplace.current.path(path)
        let number = open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard number >= 0 else {
            let (reason, subject) = (SystemText.of(errno), option.map { "The file of \($0)" } ?? path)
            throw CommandFailure(.inputOutput, name: "file", "\(subject) cannot be made: \(reason).")
        }
        defer { close(number) }
        guard StandardStreams.write(bytes, to: number), fsync(number) == 0 else {
            let failure = CommandFailure(
                .inputOutput, name: "file", "\(path) cannot be written: \(SystemText.of(errno)).")
            unlink(place)
            throw failure
        }
    }
}
