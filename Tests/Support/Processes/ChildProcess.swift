internal import Foundation
internal import Glibc

/// How a child ended, and what it said.
package struct Outcome: Sendable {
    /// What it exited with; the signal's number where one ended it.
    package var status: Int32
    package var output: String
    package var error: String

    /// The one JSON value of standard output.
    package func json<Value: Decodable>(_ type: Value.Type) throws -> Value {
        do {
            return try JSONDecoder().decode(type, from: Data(output.utf8))
        } catch {
            throw Unexpected("Ended with \(status) and no \(type): \(output.prefix(400)) \(self.error.prefix(400))")
        }
    }
}

/// A program that runs beside the test, asked to stop at the latest with this value.
///
/// Its streams go to files, so that neither side ever waits for the other.
package final class ChildProcess: Sendable {
    package let arguments: [String]
    private let folder: TemporaryDirectory
    private let child: SpawnedChild

    /// - Parameter network: where it runs; this machine's where nil.
    package init(
        _ program: String, _ arguments: [String], input: String? = nil, environment: [String: String] = [:],
        in network: NetworkNamespace? = nil
    ) throws {
        let words = (network.map { ["/usr/bin/env", "ip", "netns", "exec", $0.name] } ?? []) + [program] + arguments
        self.arguments = arguments
        folder = try TemporaryDirectory()
        if let input { try folder.write(input, to: "in") }
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        child = try SpawnedChild(
            words[0], Array(words.dropFirst()), environment: variables,
            input: input == nil ? "/dev/null" : folder.file("in"), output: folder.file("out"),
            error: folder.file("err"))
    }

    /// Asks the child to end, and kills it if it has not ended within 5 s. The whole group is killed, since the child's
    /// own children, such as the program behind a wrapper, may outlive it.
    deinit {
        guard child.isRunning else { return }
        child.signalGroup(SIGTERM)
        Thread.detachNewThread { [child] in
            for _ in 0..<500 where child.isRunning { usleep(10_000) }
            child.signalGroup(SIGKILL)
        }
    }

    package var identifier: Int32 { child.identifier }
    package var isRunning: Bool { child.isRunning }
    package var output: String { (try? String(contentsOfFile: folder.file("out"), encoding: .utf8)) ?? "" }
    package var error: String { (try? String(contentsOfFile: folder.file("err"), encoding: .utf8)) ?? "" }

    /// Whether the child itself, and not another program, accepts connections at a port, in whatever network it runs.
    package func listens(at port: UInt16) -> Bool {
        let suffix = String(format: ":%04X", port)
        return [("tcp", 8), ("tcp6", 32)].contains { table, digits in
            guard let text = KernelFile.text("/proc/\(identifier)/net/\(table)") else { return false }
            // A server that starts is asked every few milliseconds, and does not listen yet nearly each time: then the
            // table is not taken apart, which would take longer than all the rest.
            let listener = "\(suffix) \(String(repeating: "0", count: digits)):0000 0A"
            guard strstr(text, listener) != nil else { return false }
            let sockets = self.sockets
            return text.split(separator: "\n").contains { line in
                let words = line.split(separator: " ")
                return words.count > 9 && words[1].hasSuffix(suffix) && words[3] == "0A"
                    && sockets.contains("socket:[\(words[9])]")
            }
        }
    }

    /// The sockets that the child has open, by the kernel's names.
    private var sockets: Set<String> {
        let folder = "/proc/\(identifier)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return Set(names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)") })
    }

    package func signal(_ number: Int32) { child.signal(number) }

    /// Stops the child, until SIGCONT, and waits until none of its threads runs: a signal alone takes effect later.
    package func pause() async throws {
        child.signal(SIGSTOP)
        guard try await eventually({ isPaused }) else { throw Unexpected("\(arguments) is not paused.") }
    }

    private var isPaused: Bool {
        let folder = "/proc/\(identifier)/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return !threads.isEmpty
            && threads.allSatisfy { thread in
                // The name before the state is in parentheses, and may have some of its own.
                let text = KernelFile.text("\(folder)/\(thread)/stat") ?? ""
                return text[(text.lastIndex(of: ")") ?? text.startIndex)...].hasPrefix(") T")
            }
    }

    /// Signals the child and its own children, such as the program that a wrapper runs.
    package func signalGroup(_ number: Int32) { child.signalGroup(number) }

    /// Waits for the end; kills the child and throws where it takes longer.
    package func outcome(within limit: Duration = .seconds(60)) async throws -> Outcome {
        guard try await eventually(within: limit, { !isRunning }), let status = child.status else {
            child.signalGroup(SIGKILL)
            throw Unexpected("\(arguments) did not end within \(limit): \(error)")
        }
        return Outcome(status: status, output: output, error: error)
    }
}
