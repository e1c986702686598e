import Glibc
import SallyportBase
import SallyportLoading

/// Asks for a password on the terminal of the process, whatever standard input is, without showing it.
///
/// The terminal makes no signals of keys meanwhile: Ctrl-C would end the process with a terminal that shows nothing.
enum TerminalPassword {
    /// Nil where the process has no terminal, or no line was entered.
    ///
    /// - Throws: ``Interruption`` at Ctrl-C.
    static func ask(_ prompt: String) throws -> Redacted<String>? {
        guard let terminal = Workplace.current.openTerminal() else { return nil }
        defer { close(terminal) }
        var before = termios()
        guard tcgetattr(terminal, &before) == 0 else { return nil }
        var settings = before
        settings.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        guard tcsetattr(terminal, TCSAFLUSH, &settings) == 0 else { return nil }
        defer {
            tcsetattr(terminal, TCSAFLUSH, &before)
            StandardStreams.write([UInt8(ascii: "\n")], to: terminal)
        }
        StandardStreams.write(Array(prompt.utf8), to: terminal)
        switch line(of: terminal) {
        case .entered(let password): return Redacted(password)
        case .interrupted: throw Interruption(number: SIGINT)
        case .none: return nil
        }
    }

    private static func line(of terminal: Int32) -> PasswordLine.End {
        var line = PasswordLine()
        var key: UInt8 = 0
        while Workplace.current.hasInput(at: terminal), read(terminal, &key, 1) == 1 {
            if let end = line.take(key) { return end }
        }
        return .none
    }
}
