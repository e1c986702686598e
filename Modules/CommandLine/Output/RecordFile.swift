import Glibc

/// A file of records, to which each adds a line.
final class RecordFile: Sendable {
    private let number: Int32

    /// - Throws: ``CommandFailure`` if the file cannot be written.
    init(_ path: String) throws(CommandFailure) {
        let place = try Workplace.current.path(path)
        // Only the user may read which servers were contacted.
        number = open(place, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard number >= 0 else {
            throw CommandFailure(
                .inputOutput, name: "fileSystem", "\(path) cannot be written: \(SystemText.of(errno)).")
        }
    }

    deinit { close(number) }

    func append(_ line: String) { StandardStreams.write(Array((line + "\n").utf8), to: number) }
}
