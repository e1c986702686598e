internal import Foundation
internal import Glibc

/// A server that asks for NTLM and verifies it with pyspnego, stopped with this value: `Tests/NTLMAcceptor/acceptor.py`.
package final class NTLMAcceptor: Sendable {
    package let port: UInt16
    private let process: ChildProcess
    private let folder: TemporaryDirectory

    /// A line of its log.
    package struct Line: Sendable, Hashable {
        package var connection: Int
        package var method: String
        package var path: String
        package var status: Int
        /// `-` if there is no authenticated user.
        package var user: String
        /// Of the request's body, in bytes.
        package var length: Int
        /// What the last message had: `mic`, `bindings`, `v1`, and the name of the service.
        package var facts: [String]
    }

    /// - Parameters:
    ///   - users: `DOMAIN`, name and password of each.
    ///   - identity: what it shows in TLS; nil for none.
    ///   - options: as the program has them.
    package static func start(
        _ users: [(domain: String, name: String, password: String)], identity: TestIdentity? = nil,
        options: [String] = []
    ) async throws -> NTLMAcceptor {
        let folder = try TemporaryDirectory()
        try folder.write(users.map { "\($0.domain):\($0.name):\($0.password)\n" }.joined(), to: "users")
        var arguments = [
            Programs.repository.appending(path: "Tests/NTLMAcceptor/acceptor.py").path, folder.file("users"),
        ]
        if let identity {
            try folder.write(identity.pem + identity.keyPEM, to: "site.pem")
            arguments += ["--certificate", folder.file("site.pem")]
        }
        let process = try ChildProcess(try python(), arguments + options, environment: ["PYTHONIOENCODING": "utf-8"])
        guard try await eventually(within: .seconds(30), { process.output.contains("\n") || !process.isRunning }),
            let port = process.output.split(separator: "\n").first.flatMap({ UInt16($0) })
        else { throw Unexpected("The acceptor did not start: \(process.error)") }
        return NTLMAcceptor(port, process, folder)
    }

    /// Of the folder that `Tests/Scripts/dependencies` fills; above the repository where that is a copy within another.
    private static func python() throws -> String {
        var folder = Programs.repository
        while folder.path != "/" {
            let python = folder.appending(path: ".build/acceptor/bin/python").path
            if FileManager.default.isExecutableFile(atPath: python) { return python }
            folder.deleteLastPathComponent()
        }
        throw Unexpected("There is no pyspnego; Tests/Scripts/dependencies installs it.")
    }

    private init(_ port: UInt16, _ process: ChildProcess, _ folder: TemporaryDirectory) {
        (self.port, self.process, self.folder) = (port, process, folder)
    }

    package var log: [Line] {
        process.output.split(separator: "\n").dropFirst().compactMap { line in
            let parts = line.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
            guard parts.count >= 6, let connection = Int(parts[0]), let status = Int(parts[3]),
                let length = Int(parts[5])
            else { return nil }
            return Line(
                connection: connection, method: parts[1], path: parts[2], status: status, user: parts[4],
                length: length,
                facts: Array(parts.dropFirst(6)))
        }
    }

    /// Ends all connections, and returns once the clients that watch their idle connections have seen it.
    package func closeConnections() async throws {
        func ends() -> Int { process.error.split(separator: "\n").count { $0 == "ended" } }
        let before = ends()
        process.signal(SIGUSR1)
        guard try await eventually({ ends() > before }) else { throw Unexpected("no end: \(process.error)") }
        // libcurl looks at a connection only when it uses it again, and keeps its own end open until then.
        _ = try await eventually(within: .seconds(2)) { !LoopbackPort.hasClients(port) }
    }

    /// The log, once it has so many lines.
    package func log(of count: Int) async throws -> [Line] {
        guard try await eventually({ self.log.count >= count }) else { throw Unexpected("\(log) \(process.error)") }
        return log
    }
}
