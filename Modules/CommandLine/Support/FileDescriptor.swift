import Glibc

/// A file open for reading, closed when it is let go.
struct FileDescriptor: ~Copyable {
    enum Failure: Error {
        case system(Int32)
        case tooLarge
    }

    private let number: Int32
    private let isOwned: Bool

    /// - Parameter place: a path as this process opens it; `-` is standard input, which stays open.
    init(reading place: String) throws(Failure) {
        isOwned = place != "-"
        // Opening a FIFO would wait for its writer, even if the command has ended: `hasInput` waits instead.
        number = isOwned ? open(place, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : Workplace.current.input
        guard number >= 0 else { throw .system(errno) }
    }

    deinit { if isOwned, number >= 0 { close(number) } }

    /// All that is there, or ``Failure/tooLarge`` where that is more than `limit` bytes.
    func read(upTo limit: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            guard Workplace.current.hasInput(at: number) else { throw .system(ECANCELED) }
            let count = chunk.withUnsafeMutableBytes { Glibc.read(number, $0.baseAddress, $0.count) }
            if count == 0 { return bytes }
            guard count > 0 else {
                guard errno == EINTR || errno == EAGAIN else { throw .system(errno) }
                continue
            }
            bytes += chunk[..<count]
            guard bytes.count <= limit else { throw .tooLarge }
        }
    }
}

/// The system's text for an error.
enum SystemText {
    static func of(_ number: Int32) -> String { String(cString: strerror(number)) }
}
