import Glibc

/// A file that a command creates and writes in parts.
final class NewFileInParts: Sendable {
    private let path: String
    private let number: Int32

    /// - Throws: ``CommandFailure`` if the file exists, or cannot be made.
    init(_ path: String, mode: mode_t) throws(CommandFailure) {
        self.path = path
        number = open(Workplace.current.path(path), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard number >= 0 else {
            throw CommandFailure(.inputOutput, name: "file", "\(path) cannot be made: \(SystemText.of(errno)).")
        }
    }

    deinit { close(number) }

    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        guard StandardStreams.write(bytes, to: number) else { throw unwritten() }
    }

    /// Call this at the end: what was written is on the disk when it returns.
    func finish() throws(CommandFailure) {
        guard fsync(number) == 0 else { throw unwritten() }
    }

    private func unwritten() -> CommandFailure {
        CommandFailure(.inputOutput, name: "file", "\(path) cannot be written: \(SystemText.of(errno)).")
    }
}
