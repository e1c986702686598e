import Glibc
import Sallyport

/// The standard streams and the folder that a command works with, and the app whose store it uses.
///
/// They are the process's own, unless the command runs for another process: with a running door, `fetch`, `connect` and
/// `token` are carried out by the process that has the store open (``CommandService``).
struct Workplace: Sendable {
    var input = STDIN_FILENO
    var output = STDOUT_FILENO
    var error = STDERR_FILENO
    /// What relative paths are relative to; nil for the process's own folder.
    var folder: String?
    /// The store of commands that name none; empty if there is no such.
    var defaultStore = getenv("SALLYPORT_STORE").map { String(cString: $0) } ?? ""
    /// The app that is open already; nil if the command opens it.
    var app: Sallyport?

    @TaskLocal static var current = Workplace()

    /// Whether the command runs for another process.
    var isForAnother: Bool { app != nil }

    /// A path of the command line, as this process opens it.
    func path(_ text: String) -> String {
        guard let folder, !text.hasPrefix("/"), text != "-" else { return text }
        return DirectoryPath.appending(text, to: folder)
    }

    /// The terminal to ask on; nil if there is none. The caller closes it.
    func openTerminal() -> Int32? {
        guard isForAnother else {
            let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
            return terminal >= 0 ? terminal : nil
        }
        guard let descriptor = [input, error, output].first(where: { isatty($0) == 1 }) else { return nil }
        let terminal = open("/proc/self/fd/\(descriptor)", O_RDWR | O_CLOEXEC | O_NOCTTY)
        return terminal >= 0 ? terminal : nil
    }

    /// Ends standard output for its reader.
    func closeOutput() {
        // The number stays taken: another thread may still write to it.
        let nothing = open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard nothing >= 0 else { return }
        dup2(nothing, output)
        close(nothing)
    }
}
