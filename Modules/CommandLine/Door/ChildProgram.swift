import CSignals
import Glibc
import SallyportBase

/// A program that runs in the place of this one: with its streams and in its group, told of its signals.
struct ChildProgram: Sendable {
    private let name: String
    private let words: SystemStrings
    private let variables: [(name: String, value: String)]
    /// Kept open in the program under the same number.
    private let inherited: Int32?

    /// - Parameters:
    ///   - name: of the program, for messages.
    ///   - words: the program and its arguments.
    ///   - variables: set in the program besides this process's environment.
    init(
        _ name: String, _ words: SystemStrings, _ variables: [(name: String, value: String)] = [],
        keeping inherited: Int32? = nil
    ) {
        self.name = name
        self.words = words
        self.variables = variables
        self.inherited = inherited
    }

    /// Returns when the program has ended.
    ///
    /// - Returns: its exit status; 128 and the number of the signal that ended it.
    func run() async throws -> Int32 { try await Self.wait(for: start()) }

    /// Returns when a program has ended that is only to find something out. A signal ends this process as usual.
    ///
    /// - Returns: as ``run()``.
    func check() async throws -> Int32 { try await Self.end(of: spawn()) }

    /// The signals that the program is told of are trapped before it starts: one that came a moment later would end this
    /// process alone. It is told of them once it is waited for.
    ///
    /// - Returns: the number of the process.
    func start() throws(CommandFailure) -> pid_t {
        sallyport_trap_signals()
        return try spawn()
    }

    private func spawn() throws(CommandFailure) -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // What a process ignores, its programs ignore too. This one ignores SIGPIPE and SIGXFSZ of itself; what it was
        // started to ignore, as by nohup, the program is to ignore as well.
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGPIPE, SIGXFSZ] { sigaddset(&signals, signal) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // A descriptor that is copied onto itself is kept at exec.
        if let inherited { posix_spawn_file_actions_adddup2(&actions, inherited, inherited) }
        var process: pid_t = 0
        let result = words.withProgram { program, words in
            SystemStrings.environment.setting(variables).withPointers { environment in
                DescriptorLimit.withInitial {
                    posix_spawnp(&process, program, &actions, &attributes, words, environment)
                }
            }
        }
        guard result == 0 else {
            throw CommandFailure(
                result == ENOENT ? ExitStatus(rawValue: 127) : ExitStatus(rawValue: 126), name: "program",
                "\(name) cannot be started: \(SystemText.of(result)).")
        }
        return process
    }

    /// Passes signals on until the process has ended.
    static func wait(for process: pid_t) async throws -> Int32 {
        sallyport_pass_signals(process)
        return try await end(of: process)
    }

    private static func end(of process: pid_t) async throws -> Int32 {
        let status = await BlockingCalls("sallyport.child").call { exitStatus(of: process) }
        guard let status else { throw CancellationError() }
        return status
    }

    private static func exitStatus(of process: pid_t) -> Int32 {
        sallyport_await_end(process)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return 1 }
        }
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : 128 + signal
    }
}
