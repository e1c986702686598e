import Glibc

/// A file that a command writes to, which may be a FIFO whose reader never comes or never reads. Neither opening nor
/// writing it lasts longer than the command: the process of a door would keep a thread for each such call.
final class WritableFile: Sendable {
    struct Failure: Error {
        /// An `errno`; ECANCELED if the command is another process's that has left, or has ended.
        let number: Int32
    }

    private let descriptor: Int32
    /// Whether a write waits for room by itself.
    private let blocks: Bool

    /// Waits for the reader of a FIFO, as open(2) does.
    ///
    /// - Parameters:
    ///   - place: a path as this process opens it.
    ///   - flags: in addition, for open(2).
    ///   - mode: of a new file.
    init(_ place: String, _ flags: Int32 = 0, mode: mode_t = 0) throws(Failure) {
        descriptor = try Self.opened(place, flags, mode)
        blocks = false
    }

    /// A descriptor of this process, which stays open.
    init(copyOf other: Int32) throws(Failure) {
        blocks = true
        descriptor = fcntl(other, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { throw Failure(number: errno) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private static func opened(_ place: String, _ flags: Int32, _ mode: mode_t) throws(Failure) -> Int32 {
        while true {
            let descriptor = open(place, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, mode)
            guard descriptor < 0 else { return descriptor }
            let number = errno
            // A FIFO without a reader. The system does not tell when one comes.
            guard number == ENXIO, isFIFO(place) else { throw Failure(number: number) }
            guard Workplace.current.isWanted(afterMilliseconds: 20) else { throw Failure(number: ECANCELED) }
        }
    }

    private static func isFIFO(_ place: String) -> Bool {
        var status = stat()
        return stat(place, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    /// Writes all of the bytes, or throws. What there is room for is written for a command that has ended, too: the
    /// record of its load comes last.
    func write(_ bytes: [UInt8]) throws(Failure) {
        var rest = bytes[...]
        if blocks { try awaitRoom() }
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 else {
                let number = errno
                guard number == EINTR || number == EAGAIN else { throw Failure(number: number) }
                if number == EAGAIN { try awaitRoom() }
                continue
            }
            rest = rest.dropFirst(count)
        }
    }

    private func awaitRoom() throws(Failure) {
        guard Workplace.current.hasRoom(at: descriptor) else { throw Failure(number: ECANCELED) }
    }
}
