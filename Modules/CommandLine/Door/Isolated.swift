import ArgumentParser
import Foundation
import Glibc
import SallyportDoor

/// A program in a user and a network namespace of its own (namespaces(7)), in which there is a loopback interface and the
/// door.
///
/// util-linux's `unshare` makes the namespaces, since a process with threads cannot. Inside, this program runs once more
/// (``InsideCommand``): it makes the socket on which the door listens, passes it outside, and becomes the program.
struct Isolated: Sendable {
    private let process: pid_t
    /// Our end of the pair over which the socket is passed.
    private let link: Int32

    init(_ command: [String], authorities: String?) throws {
        var pair: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
            throw Self.noSockets(errno)
        }
        for descriptor in pair { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        defer { close(pair[1]) }
        let inside = ["inside", "--link", "\(pair[1])"] + (authorities.map { ["--ca", $0] } ?? []) + ["--"]
        link = pair[0]
        let words = SystemStrings(Self.unshare + [try Self.program()] + inside)
        process = try ChildProgram(
            Self.unshare[0], words + SystemStrings(endOfCommandLine: command), keeping: pair[1]
        ).start()
    }

    static func noSockets(_ number: Int32) -> CommandFailure {
        CommandFailure(.inputOutput, name: "system", "No sockets can be made: \(SystemText.of(number)).")
    }

    /// The capabilities in the new namespaces are kept, also by a user other than root, until the loopback interface is up.
    private static let unshare = ["unshare", "--user", "--map-current-user", "--net", "--keep-caps", "--"]

    private static func program() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }

    /// - Throws: ``CommandFailure`` if this machine forbids such namespaces.
    static func check() async throws {
        let silenced = ["sh", "-c", "\"$@\" 2>/dev/null", "sh"] + unshare + ["true"]
        guard try await ChildProgram(silenced[0], SystemStrings(silenced)).check() == 0 else {
            throw CommandFailure(
                .unavailable, name: "noNamespaces",
                "The program cannot be isolated: this machine lets this user make no user and network namespaces.",
                hint:
                    "an administrator allows them (kernel.unprivileged_userns_clone, user.max_user_namespaces); without "
                    + "--isolate the program is told of the door, and not held to it")
        }
    }

    /// The socket inside on which a door is to listen.
    func listener() async throws -> Int32 {
        let link = link
        let received = await BlockingCalls("sallyport.isolation").call {
            try? DescriptorPassing.receive(1, descriptors: 1, over: link)
        }
        guard let socket = (received ?? nil)?.descriptors.first else {
            throw Self.notStarted
        }
        return socket
    }

    static let notStarted = CommandFailure(.software, name: "isolation", "The isolated program did not start.")

    /// Lets the program begin; returns its exit status.
    func run() async throws -> Int32 {
        try? DescriptorPassing.send([1], over: link)
        defer { close(link) }
        return try await ChildProgram.wait(for: process)
    }
}

/// What runs inside first. Not for people.
struct InsideCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "inside", shouldDisplay: false)
    @Option var link: Int32
    @Option var ca: String?
    @Argument(parsing: .postTerminator) var command: [String]

    static let doorEnded = CommandFailure(
        .unavailable, name: "isolation", "The door outside the isolated program has ended.")

    func run() async throws {
        let (socket, port) = try Isolation.listen()
        do {
            try DescriptorPassing.send([1], [socket], over: link)
            // The door listens once this comes.
            _ = try DescriptorPassing.receive(1, over: link)
        } catch {
            throw Self.doorEnded
        }
        close(socket)
        close(link)
        Isolation.dropPrivilegesAtExec()
        let environment = DoorEnvironment(proxy: "127.0.0.1:\(port)", authorities: ca)
        for (name, value) in environment.variables { setenv(name, value, 1) }
        for number in [SIGPIPE, SIGXFSZ] { signal(number, SIG_DFL) }
        Self.unblockSignals()
        let number = SystemStrings(endOfCommandLine: command).withProgram { program, words in
            execvp(program, words)
            return errno
        }
        throw CommandFailure(
            ExitStatus(rawValue: number == ENOENT ? 127 : 126), name: "program",
            "\(command[0]) cannot be started: \(SystemText.of(number)).")
    }

    /// A program begins with the mask of the thread that executes it. This is one of Dispatch's, on which nearly all
    /// signals are blocked: the program would never see SIGTERM, or the end of its own children.
    private static func unblockSignals() {
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
    }
}
