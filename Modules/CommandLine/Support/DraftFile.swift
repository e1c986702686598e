import Glibc
import SallyportBase

/// A file that must not exist yet, which gets its name once it is whole: of a command that is killed before, nothing is
/// left. On a file system without nameless files it has its name from the beginning.
final class DraftFile {
    /// `O_TMPFILE`, which Swift's Glibc module leaves out.
    private static let namelessFlag: Int32 = 0o20_000_000 | O_DIRECTORY

    private let path: String
    /// The file, as failures to make it call it.
    private let subject: String
    /// The path as this process opens it.
    private let place: String
    private let number: Int32
    private var isNamed: Bool
    private var isKept = false

    /// - Parameter option: the option that names the file of a secret; see ``InputFile/bytes(_:limit:ofSecret:)``.
    init(_ path: String, mode: mode_t, ofSecret option: String? = nil) throws(CommandFailure) {
        self.path = path
        subject = option.map { "The file of \($0)" } ?? path
        place = try Workplace.current.path(path)
        if let descriptor = DraftFile.nameless(beside: place, mode) {
            (number, isNamed) = (descriptor, false)
            return
        }
        let descriptor = open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw DraftFile.unmade(subject, errno) }
        (number, isNamed) = (descriptor, true)
    }

    deinit {
        close(number)
        if isNamed, !isKept { unlink(place) }
    }

    /// A file without a name; nil if there can be none.
    private static func nameless(beside place: String, _ mode: mode_t) -> Int32? {
        let descriptor = open(PathParts(place).directory, O_WRONLY | namelessFlag | O_CLOEXEC, mode)
        guard descriptor >= 0 else { return nil }
        // It gets its name by way of /proc.
        guard access("/proc/self/fd/\(descriptor)", F_OK) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Writes the whole content, and waits until it is on the disk.
    func write(_ bytes: [UInt8]) throws(CommandFailure) {
        guard StandardStreams.write(bytes, to: number), fsync(number) == 0 else {
            throw CommandFailure(
                .inputOutput, name: "file", "\(path) cannot be written: \(SystemText.of(errno)).")
        }
    }

    /// Gives the file its name, which it loses again unless it is kept. A loss of power does not take it back once this
    /// has returned.
    func publish() throws(CommandFailure) {
        guard !isNamed else { return }
        let error = DurableName.link(number, as: place)
        guard error == 0 else { throw DraftFile.unmade(subject, error) }
        isNamed = true
    }

    func keep() { isKept = true }

    private static func unmade(_ subject: String, _ number: Int32) -> CommandFailure {
        CommandFailure(.inputOutput, name: "file", "\(subject) cannot be made: \(SystemText.of(number)).")
    }
}
