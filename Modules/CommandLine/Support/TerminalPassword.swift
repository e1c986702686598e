import Glibc
import SallyportCore

/// Asks for a password on the terminal of the process, whatever standard input is, without showing it.
enum TerminalPassword {
    /// Nil where the process has no terminal, or the asking was ended.
    static func ask(_ prompt: String) -> Redacted<String>? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        var settings = termios()
        guard tcgetattr(terminal, &settings) == 0 else { return nil }
        let before = settings
        settings.c_lflag &= ~tcflag_t(ECHO)
        guard tcsetattr(terminal, TCSAFLUSH, &settings) == 0 else { return nil }
        defer {
            var before = before
            tcsetattr(terminal, TCSAFLUSH, &before)
            StandardStreams.write([UInt8(ascii: "\n")], to: terminal)
        }
        StandardStreams.write(Array(prompt.utf8), to: terminal)
        return line(of: terminal).map { Redacted($0) }
    }

    private static func line(of terminal: Int32) -> String? {
        var octets = [UInt8](repeating: 0, count: 4096)
        let count = read(terminal, &octets, octets.count)
        guard count > 0 else { return nil }
        return String(validating: octets.prefix(count).prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
