import Glibc
import Synchronization

/// The records of a door's connections: a line of JSON for each, appended to a file, a FIFO or a terminal.
///
/// Lines are written on the door's event loop, which a FIFO that is not read or a stopped terminal must not hold up. A
/// line that is not taken at once is lost, and how many were lost is said in front of the next line that is written.
final class DoorLog: Sendable {
    private let number: Int32
    private let lost = Atomic(0)
    /// Whether only a part of the last line was written.
    private let isLineOpen = Atomic(false)

    /// Returns at once, even for a FIFO without a reader.
    ///
    /// - Throws: ``CommandFailure`` if the file cannot be written.
    init(_ path: String) throws(CommandFailure) {
        let place = try Workplace.current.path(path)
        let flags = O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
        // Only the user may read which servers were contacted.
        var descriptor = open(place, O_WRONLY | flags, 0o600)
        // A FIFO without a reader. Opened for both, it keeps the first lines until there is one (fifo(7)).
        if descriptor < 0, errno == ENXIO { descriptor = open(place, O_RDWR | flags, 0o600) }
        guard descriptor >= 0 else {
            throw CommandFailure(
                .inputOutput, name: "fileSystem", "\(path) cannot be written: \(SystemText.of(errno)).")
        }
        number = descriptor
    }

    deinit { close(number) }

    func append(_ line: String) {
        let count = lost.exchange(0, ordering: .relaxed)
        guard count == 0 || put("{\"lost\":\(count)}") else {
            lost.add(count + 1, ordering: .relaxed)
            return
        }
        if !put(line) { lost.add(1, ordering: .relaxed) }
    }

    /// - Returns: whether the whole line was written.
    private func put(_ line: String) -> Bool {
        // A line that was cut stays cut and counts as lost; the next one begins on a line of its own.
        let bytes = Array(((isLineOpen.load(ordering: .relaxed) ? "\n" : "") + line + "\n").utf8)
        var count = bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
        while count < 0, errno == EINTR {
            count = bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
        }
        if count > 0 { isLineOpen.store(count < bytes.count, ordering: .relaxed) }
        return count == bytes.count
    }
}
