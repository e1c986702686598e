import Glibc
import SallyportBase

/// A file that a command creates and writes in parts.
///
/// The parts lie in a second file, whose name has `.partial` at its end, until ``finish()`` moves it into the place of
/// the first one, which is empty so far. A command that fails leaves neither file, and one that is killed leaves no
/// file that looks complete.
final class NewFileInParts: Sendable {
    private let path: String
    /// The paths of both files, as this process opens them.
    private let place: String
    private let partial: String
    private let number: Int32

    /// - Throws: ``CommandFailure`` if the file exists, or cannot be made.
    init(_ path: String, mode: mode_t) throws(CommandFailure) {
        self.path = path
        place = try Workplace.current.path(path)
        partial = place + ".partial"
        try close(NewFileInParts.make(place, mode, for: path))
        // An earlier command that was killed may have left such a file.
        unlink(partial)
        do throws(CommandFailure) {
            number = try NewFileInParts.make(partial, mode, for: path)
        } catch {
            unlink(place)
            throw error
        }
    }

    deinit {
        close(number)
        // A finished file was moved away from this name, and stays.
        if unlink(partial) == 0 { unlink(place) }
    }

    private static func make(_ place: String, _ mode: mode_t, for path: String) throws(CommandFailure) -> Int32 {
        let number = open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard number >= 0 else {
            throw CommandFailure(.inputOutput, name: "file", "\(path) cannot be made: \(SystemText.of(errno)).")
        }
        return number
    }

    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        guard StandardStreams.write(bytes, to: number) else { throw unwritten(errno) }
    }

    /// Call this once, at the end: what was written is on the disk, and in its place, when it returns.
    func finish() throws(CommandFailure) {
        guard fsync(number) == 0 else { throw unwritten(errno) }
        let error = DurableName.rename(partial, to: place)
        guard error == 0 else {
            // The whole file may have its name already, which may not last.
            unlink(place)
            throw unwritten(error)
        }
    }

    private func unwritten(_ number: Int32) -> CommandFailure {
        CommandFailure(.inputOutput, name: "file", "\(path) cannot be written: \(SystemText.of(number)).")
    }
}
