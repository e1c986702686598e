import Glibc

/// A file of records, to which each adds a line.
final class RecordFile: Sendable {
    private let file: WritableFile

    /// - Throws: ``CommandFailure`` if the file cannot be written.
    init(_ path: String) throws(CommandFailure) {
        let place = try Workplace.current.path(path)
        do throws(WritableFile.Failure) {
            // Only the user may read which servers were contacted.
            file = try WritableFile(place, O_APPEND | O_CREAT, mode: 0o600)
        } catch {
            throw CommandFailure(
                .inputOutput, name: "fileSystem", "\(path) cannot be written: \(SystemText.of(error.number)).")
        }
    }

    /// Adds a line behind all that the command has written before. Does not wait for that if the command is another
    /// process's.
    func append(_ line: String) {
        Workplace.current.inTurn { [file] in try? file.write(Array((line + "\n").utf8)) }
    }
}
