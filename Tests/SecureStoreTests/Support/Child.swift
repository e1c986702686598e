import FoundationEssentials
import Glibc

/// The program `StoreChild`, which does to a store what a test must not do in its own process: die.
///
/// Talks in lines. Killed with this value at the latest.
final class Child {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    let identifier: pid_t
    private let socket: Int32
    private var buffer: [UInt8] = []
    private var status: Int32?

    static let program: String = {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count)
        let text = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text[..<(text.lastIndex(of: "/") ?? text.startIndex)] + "/StoreChild"
    }()

    init(_ arguments: [String], environment: [String: String] = [:]) throws {
        var variables = ProcessInfo.processInfo.environment
        variables.merge(environment) { $1 }
        variables["SWIFT_BACKTRACE"] = "enable=no"
        var ends: [Int32] = [0, 0]
        // CLOEXEC: another child that starts at the same time must not keep this one's end open.
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Failure(description: "There is no socket.") }
        defer { close(ends[1]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        let words = ([Self.program] + arguments).map { strdup($0) } + [nil]
        let names = variables.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in words + names { free(pointer) } }
        var child = pid_t()
        let result = posix_spawn(&child, Self.program, &actions, nil, words, names)
        (identifier, socket) = (child, ends[0])
        guard result == 0 else { throw Failure(description: "\(Self.program) does not start (\(result)).") }
    }

    deinit {
        if status == nil {
            kill(SIGKILL)
            _ = try? wait()
        }
        close(socket)
    }

    func kill(_ signal: Int32) { _ = Glibc.kill(identifier, signal) }

    func write(_ line: String) throws {
        let bytes = Array((line + "\n").utf8)
        guard Glibc.send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw Failure(description: "The child does not listen.")
        }
    }

    /// Ends the child's input.
    func endInput() { shutdown(socket, Int32(SHUT_WR)) }

    /// The next line without its end; nil where the child has closed its output.
    func readLine(within seconds: Int = 60) throws -> String? {
        while true {
            if let end = buffer.firstIndex(of: 10) {
                defer { buffer.removeFirst(end + 1) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            guard try fill(within: seconds) else { return nil }
        }
    }

    /// Every whole line up to the end of the child's output.
    func readLines(within seconds: Int = 60) throws -> [String] {
        while try fill(within: seconds) {}
        var lines = buffer.split(separator: 10, omittingEmptySubsequences: false)
        lines.removeLast()
        return lines.map { String(decoding: $0, as: UTF8.self) }
    }

    private func fill(within seconds: Int) throws -> Bool {
        var wanted = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        guard poll(&wanted, 1, Int32(seconds) * 1000) == 1 else {
            throw Failure(description: "The child said nothing for \(seconds) s.")
        }
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        let count = read(socket, &chunk, chunk.count)
        guard count > 0 else { return false }
        buffer += chunk[..<count]
        return true
    }

    /// How the child ended: its exit status, or minus the signal.
    @discardableResult
    func wait() throws -> Int32 {
        if let status { return status }
        var raw: Int32 = 0
        while waitpid(identifier, &raw, 0) < 0 {
            guard errno == EINTR else { throw Failure(description: "There is no child to wait for.") }
        }
        let status = raw & 0x7f == 0 ? (raw >> 8) & 0xff : -(raw & 0x7f)
        self.status = status
        return status
    }
}
