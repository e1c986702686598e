import Glibc

/// Files that a command creates.
enum NewFile {
    /// Writes a file that must not exist yet.
    static func write(_ text: String, to path: String, mode: mode_t) throws(CommandFailure) {
        try write(Array(text.utf8), to: path, mode: mode)
    }

    /// Writes a file that must not exist yet.
    static func write(_ bytes: [UInt8], to path: String, mode: mode_t) throws(CommandFailure) {
        let number = open(Workplace.current.path(path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard number >= 0 else {
            throw CommandFailure(.inputOutput, name: "file", "\(path) cannot be made: \(SystemText.of(errno)).")
        }
        defer { close(number) }
        guard StandardStreams.write(bytes, to: number), fsync(number) == 0 else {
            throw CommandFailure(.inputOutput, name: "file", "\(path) cannot be written: \(SystemText.of(errno)).")
        }
    }
}
