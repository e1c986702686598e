import Glibc
import Sallyport
import Synchronization

/// The standard streams, the folder and the umask that a command works with, and the app whose store it uses.
///
/// They are the process's own, unless the command runs for another process: with a running door, `fetch`, `connect` and
/// `token` are carried out by the process that has the store open (``CommandService``).
struct Workplace: Sendable {
    var input = STDIN_FILENO
    var output = STDOUT_FILENO
    var error = STDERR_FILENO
    /// What relative paths are relative to; nil for the process's own folder.
    var folder: String?
    /// The rights that new files do not get; nil for those of the process's own umask.
    var umask: mode_t?
    /// The store of commands that name none; empty if there is no such.
    var defaultStore = getenv("SALLYPORT_STORE").map { String(cString: $0) } ?? ""
    /// The app that is open already; nil if the command opens it.
    var app: Sallyport?
    /// The owner of the streams, if they are those of another process.
    var streams: PassedStreams?
    private let inputUse = InputUse()
    private let outputState = OutputState()

    @TaskLocal static var current = Workplace()

    /// Whether the command runs for another process.
    var isForAnother: Bool { app != nil }

    /// A path of the command line, as this process opens it. Where `-` is a stream, the caller knows it as such.
    ///
    /// - Throws: ``CommandFailure`` for a ``ProcessPath`` of another process's command, which would lead to descriptors
    ///   or the terminal of this one.
    func path(_ text: String) throws(CommandFailure) -> String {
        guard let folder else { return text }
        let place = ProcessPath.isAbsolute(text) ? text : DirectoryPath.appending(text, to: folder)
        guard !ProcessPath.contains(place) else {
            throw CommandFailure(
                .usage, name: "processPath",
                "\(text) would lead into the process of the door, which carries the command out.",
                hint: "give a file or a FIFO, or - where that is standard input or output")
        }
        return place
    }

    /// Whether standard input has not been read as a file before, which takes all of it: true once.
    func takeInput() -> Bool { inputUse.take() }

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

    /// Waits until a stream or a file has something to read, or has ended. A FIFO without a writer has neither.
    ///
    /// - Returns: false if the command is another process's that has left, or has ended. A read would then wait for
    ///   later input, and take what is typed at that terminal for other programs.
    func hasInput(at stream: Int32) -> Bool { isWanted(awaiting: POLLIN, at: stream) }

    /// Waits until something can be written to a file, or its reader has left.
    ///
    /// - Returns: false as ``hasInput(at:)`` does.
    func hasRoom(at file: Int32) -> Bool { isWanted(awaiting: POLLOUT, at: file) }

    /// Waits for a moment.
    ///
    /// - Returns: false as ``hasInput(at:)`` does.
    func isWanted(afterMilliseconds time: Int32) -> Bool { isWanted(awaiting: 0, at: -1, for: time) }

    /// - Parameter time: in milliseconds; negative for no limit.
    private func isWanted(awaiting events: Int32, at file: Int32, for time: Int32 = -1) -> Bool {
        // The system takes no notice of a negative number.
        var places = [
            pollfd(fd: file, events: Int16(events), revents: 0),
            pollfd(fd: streams?.connection ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        while poll(&places, nfds_t(places.count), time) < 0 {
            guard errno == EINTR else { return true }
        }
        return places[1].revents == 0
    }

    /// The calls that write to the command's streams, in their order.
    var writing: BlockingCalls { streams?.writing ?? BlockingCalls("sallyport.output") }

    /// Writes after all that was written before. The terminal of another process may be stopped (Ctrl-S), or its pipe
    /// full: the command does not wait for that, since it would hold a thread that the connections of other programs
    /// need.
    func write(_ bytes: [UInt8], to descriptor: Int32) {
        inTurn { [self] in writeNow(bytes, to: descriptor) }
    }

    /// Makes a call that writes, after all that was written before. Returns at once if the command is another
    /// process's.
    func inTurn(_ write: @escaping @Sendable () -> Void) {
        guard let streams else { return write() }
        Self.$current.withValue(self) { streams.writing.enqueue(write) }
    }

    private func writeNow(_ bytes: [UInt8], to descriptor: Int32) {
        guard !StandardStreams.write(bytes, to: descriptor), descriptor == output else { return }
        outputState.failed(errno)
    }

    /// Why something that was printed is not in standard output: errno; nil if all is there, and if its reader has left
    /// before (`| head`).
    var outputFailure: Int32? { outputState.failure }

    /// Returns once all is written, or the task is cancelled.
    func finishWriting() async { _ = await streams?.writing.call { true } }

    /// Ends standard output for its reader.
    func closeOutput() { Self.end(output) }

    /// Ends a stream for the process at its other end. The number stays taken: another thread may still use it.
    fileprivate static func end(_ stream: Int32) {
        let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
        guard nothing >= 0 else { return }
        dup2(nothing, stream)
        close(nothing)
    }
}

/// Whether a command's standard input was read as a file.
private final class InputUse: Sendable {
    private let isTaken = Atomic(false)

    func take() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}

/// Whether what a command printed was written.
private final class OutputState: Sendable {
    private let number = Atomic<Int32>(0)

    /// The first one counts.
    func failed(_ number: Int32) {
        _ = self.number.compareExchange(expected: 0, desired: number, ordering: .relaxed)
    }

    var failure: Int32? {
        let number = number.load(ordering: .relaxed)
        return number == 0 || StandardStreams.isReaderGone(number) ? nil : number
    }
}

/// The standard streams of another process, for which a command is carried out here.
///
/// A call that blocks (``BlockingCalls``) may outlast its command. So the numbers stay taken until nothing has the
/// command's ``Workplace`` any more: such a call would otherwise read from, or write to, whatever was opened next.
final class PassedStreams: Sendable {
    private let numbers: [Int32]
    fileprivate let writing = BlockingCalls("sallyport.output")
    /// The connection to the process, which can be read once the process has left or the command has ended; negative if
    /// there is none.
    fileprivate let connection: Int32

    /// - Parameters:
    ///   - numbers: the descriptors, which this object closes.
    ///   - connection: the one to the process. Its reading side is shut down when the command has ended.
    init(_ numbers: [Int32], until connection: Int32 = -1) {
        self.numbers = numbers
        self.connection = dup(connection)
        _ = fcntl(self.connection, F_SETFD, FD_CLOEXEC)
    }

    deinit { for number in numbers + [connection] where number >= 0 { close(number) } }

    /// Ends the streams for the processes at their other ends. Call it when the command has ended.
    func end() { for number in numbers { Workplace.end(number) } }
}
