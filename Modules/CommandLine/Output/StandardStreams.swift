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

    /// What standard input has, at most `limit` octets; none at its end, and where it cannot be read.
    static func read(upTo limit: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var result = Glibc.read(STDIN_FILENO, buffer.baseAddress, limit)
            while result < 0, errno == EINTR { result = Glibc.read(STDIN_FILENO, buffer.baseAddress, limit) }
            count = max(0, result)
        }
    }

    static var errorIsTerminal: Bool { isatty(STDERR_FILENO) == 1 }
    static var inputIsTerminal: Bool { isatty(STDIN_FILENO) == 1 }
    static var outputIsTerminal: Bool { isatty(STDOUT_FILENO) == 1 }
}
