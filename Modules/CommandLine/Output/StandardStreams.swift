import Glibc

/// The standard streams, written whole: a pipe may take less than it is given.
enum StandardStreams {
    /// A line to standard output.
    static func output(_ text: String) { line(text, to: Workplace.current.output, isTerminal: outputIsTerminal) }

    /// A line to standard error.
    static func error(_ text: String) { line(text, to: Workplace.current.error, isTerminal: errorIsTerminal) }

    /// Writes a whole text to standard output, unchanged unless that is a terminal. Returns false as
    /// ``write(_:to:)`` does.
    static func output(text bytes: [UInt8]) -> Bool {
        let shown = outputIsTerminal ? Array(TerminalText.of(String(decoding: bytes, as: UTF8.self)).utf8) : bytes
        return write(shown, to: Workplace.current.output)
    }

    /// Writes a line; on a terminal, control characters in the text are escaped.
    private static func line(_ text: String, to descriptor: Int32, isTerminal: Bool) {
        Workplace.current.write(Array(((isTerminal ? TerminalText.of(text) : text) + "\n").utf8), to: descriptor)
    }

    /// Whether an `errno` of ``write(_:to:)`` says that the reader has closed the stream. If that is a socket with bytes
    /// that were not read, it is the second one.
    static func isReaderGone(_ number: Int32) -> Bool { number == EPIPE || number == ECONNRESET }

    /// Writes bytes unchanged. Returns false if not all can be written; `errno` says why.
    @discardableResult
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                guard mayTryAgain(at: descriptor, for: POLLOUT) else { return false }
                continue
            }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Reads at most `limit` bytes from standard input. Empty at the end of input, if it cannot be read, and if it
    /// belongs to another process whose command has ended.
    static func read(upTo limit: Int) -> [UInt8] {
        let input = Workplace.current.input
        guard Workplace.current.hasInput(at: input) else { return [] }
        return [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            var result = Glibc.read(input, buffer.baseAddress, limit)
            while result < 0, mayTryAgain(at: input, for: POLLIN) {
                result = Glibc.read(input, buffer.baseAddress, limit)
            }
            count = max(0, result)
        }
    }

    /// Whether something can be written without waiting for the reader.
    static func canBeWritten(_ descriptor: Int32) -> Bool {
        var place = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&place, 1, 0) > 0
    }

    /// Whether a call that has just failed may be made again: it was interrupted, or the stream is non-blocking, and is
    /// ready after a wait here. Another program that shares the terminal or the pipe, such as ssh, may have made it
    /// non-blocking.
    static func mayTryAgain(at descriptor: Int32, for events: Int32) -> Bool {
        guard errno == EAGAIN else { return errno == EINTR }
        var place = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return poll(&place, 1, -1) >= 0 || errno == EINTR
    }

    static var errorIsTerminal: Bool { isatty(Workplace.current.error) == 1 }
    static var inputIsTerminal: Bool { isatty(Workplace.current.input) == 1 }
    static var outputIsTerminal: Bool { isatty(Workplace.current.output) == 1 }
}
