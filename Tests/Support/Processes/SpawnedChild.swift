internal import Foundation
internal import Glibc
internal import SallyportBase

/// A child process in a group of its own, with no signal blocked and no descriptor but its three streams.
///
/// Foundation's `Process` hands on the signals that its threads block, SIGTERM with them: nothing of what it starts ends
/// when it is asked to, unless it sees to that itself. And it takes note of an end only once all that hold a certain
/// descriptor are gone, children of the child among them.
final class SpawnedChild: Sendable {
    let identifier: pid_t
    /// What it ended with; nil while it runs.
    private let ended: Lock<Int32?>

    /// - Parameters:
    ///   - program: its path.
    ///   - input: the file that is its standard input; `output` and `error` are made.
    init(
        _ program: String, _ arguments: [String], environment: [String: String], input: String, output: String,
        error: String
    ) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0)
        for (descriptor, file) in [(STDOUT_FILENO, output), (STDERR_FILENO, error)] {
            posix_spawn_file_actions_addopen(&actions, descriptor, file, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
        }
        for descriptor in Self.descriptors where descriptor > STDERR_FILENO {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        var attributes = Self.attributes()
        defer { posix_spawnattr_destroy(&attributes) }
        var texts = CStrings([program] + arguments)
        var variables = CStrings(environment.map { "\($0)=\($1)" })
        defer {
            texts.free()
            variables.free()
        }
        var identifier: pid_t = 0
        let result = posix_spawn(&identifier, program, &actions, &attributes, texts.pointers, variables.pointers)
        guard result == 0 else { throw Unexpected("\(program) cannot be started: error \(result)") }
        self.identifier = identifier
        let ended = Lock<Int32?>(nil)
        self.ended = ended
        // A process that waits for any child would be blocked by one that was not reaped.
        Thread.detachNewThread { [identifier] in
            let status = Self.wait(for: identifier)
            ended.withLock { $0 = status }
        }
    }

    /// Those of this process; one that is closed meanwhile does no harm.
    private static var descriptors: [Int32] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return (names ?? []).compactMap { Int32($0) }
    }

    private static func attributes() -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | Int32(POSIX_SPAWN_SETPGROUP)
        posix_spawnattr_setflags(&attributes, Int16(flags))
        return attributes
    }

    private static func wait(for identifier: pid_t) -> Int32 {
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        return signal == 0 ? (status >> 8) & 0xff : signal
    }

    var status: Int32? { ended.withLock { $0 } }
    var isRunning: Bool { status == nil }

    func signal(_ number: Int32) { if isRunning { kill(identifier, number) } }

    /// Also what is left of the group where its leader has ended.
    func signalGroup(_ number: Int32) { kill(-identifier, number) }
}

/// An array of C strings that ends in a null pointer.
private struct CStrings {
    private(set) var pointers: [UnsafeMutablePointer<CChar>?]

    init(_ texts: [String]) { pointers = texts.map { strdup($0) } + [nil] }

    mutating func free() {
        for pointer in pointers { Glibc.free(pointer) }
        pointers = []
    }
}
