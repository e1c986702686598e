import Glibc

/// The standard streams, written whole: a pipe may take less than it is given.
enum StandardStreams {
    /// A line to standard output.
    static func output(_ text: String) { write(Array((text + "\n").utf8), to: STDOUT_FILENO) }

    /// A line to standard error.
    static func error(_ text: String) { write(Array((text + "\n").utf8), to: STDERR_FILENO) }

    /// Octets as they are; false where the reader is gone.
    @discardableResult
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                guard errno == EINTR else { return false }
                continue
            }
            rest = rest.dropFirst(count)
        }
        return true
    }

    static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }
    static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
}
