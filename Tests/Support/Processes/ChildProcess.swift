internal import Foundation
internal import Glibc
internal import Synchronization

/// How a child ended, and what it said.
package struct Outcome: Sendable {
    package var status: Int32
    package var output: String
    package var error: String

    /// The one JSON value of standard output.
    package func json<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(output.utf8))
    }
}

/// A program that runs beside the test, asked to stop at the latest with this value.
///
/// Its streams go to files, so that neither side ever waits for the other.
package final class ChildProcess: Sendable {
    package let arguments: [String]
    private let folder: TemporaryDirectory
    private let process: Mutex<Process>
    package let identifier: Int32

    package init(_ program: String, _ arguments: [String], input: String? = nil, environment: [String: String] = [:])
        throws
    {
        self.arguments = arguments
        folder = try TemporaryDirectory()
        let child = Process()
        child.executableURL = URL(filePath: program)
        child.arguments = arguments
        var variables = ProcessInfo.processInfo.environment
        variables.merge(environment) { $1 }
        child.environment = variables
        for name in ["out", "err"] { _ = FileManager.default.createFile(atPath: folder.file(name), contents: nil) }
        child.standardOutput = FileHandle(forWritingAtPath: folder.file("out"))
        child.standardError = FileHandle(forWritingAtPath: folder.file("err"))
        if let input {
            try folder.write(input, to: "in")
            child.standardInput = FileHandle(forReadingAtPath: folder.file("in"))
        } else {
            child.standardInput = FileHandle.nullDevice
        }
        try child.run()
        identifier = child.processIdentifier
        process = Mutex(child)
    }

    /// Asks the child to end, and ends it where it has not within 5 s: with its group, which Foundation makes it the leader
    /// of. Children of its own would hold what says that it has ended, and nobody would take note of its end.
    deinit {
        signal(SIGTERM)
        guard isRunning else { return }
        let identifier = identifier
        let process = process.withLock { Lasting(process: $0) }
        Thread.detachNewThread {
            for _ in 0..<500 where process.process.isRunning { usleep(10_000) }
            if process.process.isRunning { kill(-identifier, SIGKILL) }
            process.process.waitUntilExit()
        }
    }

    /// Kept until the child is gone: without it, nobody would take note of its end, and it would stay as a zombie.
    private struct Lasting: @unchecked Sendable {
        // SAFETY: Foundation's Process guards its state with a lock.
        let process: Process
    }

    package var isRunning: Bool { process.withLock { $0.isRunning } }
    package var output: String { (try? String(contentsOfFile: folder.file("out"), encoding: .utf8)) ?? "" }
    package var error: String { (try? String(contentsOfFile: folder.file("err"), encoding: .utf8)) ?? "" }

    package func signal(_ number: Int32) { if isRunning { kill(identifier, number) } }

    /// Waits for the end; kills the child and throws where it takes longer.
    package func outcome(within limit: Duration = .seconds(60)) async throws -> Outcome {
        guard try await eventually(within: limit, { !isRunning }) else {
            kill(identifier, SIGKILL)
            throw Unexpected("\(arguments) did not end within \(limit): \(error)")
        }
        return Outcome(status: process.withLock { $0.terminationStatus }, output: output, error: error)
    }
}
