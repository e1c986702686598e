internal import Foundation
internal import Glibc

/// A real sshd on a loopback address, for the user that runs the tests; stopped with this value.
package final class SSHServer: Sendable {
    package let port: UInt16
    package let user: String
    private let folder: TemporaryDirectory
    private let process: ChildProcess

    package static func start(on address: String) async throws -> SSHServer {
        let folder = try TemporaryDirectory()
        // What sshd shuts itself into where it is root; a system makes it at its start.
        if geteuid() == 0 { mkdir("/run/sshd", 0o755) }
        for name in ["host", "user"] {
            let made = try await ChildProcess(
                "/usr/bin/ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", folder.file(name)]
            ).outcome()
            guard made.status == 0 else { throw Unexpected("ssh-keygen: \(made.error)") }
        }
        for _ in 0..<10 {
            let port = LoopbackPort.free()
            if let server = try await SSHServer(address, port, folder) { return server }
        }
        throw Unexpected("sshd found no port")
    }

    private init?(_ address: String, _ port: UInt16, _ folder: TemporaryDirectory) async throws {
        (self.port, self.folder) = (port, folder)
        user = NSUserName()
        let configuration = """
            ListenAddress \(address)
            Port \(port)
            HostKey \(folder.file("host"))
            PidFile \(folder.file("sshd.pid"))
            AuthorizedKeysFile \(folder.file("user.pub"))
            StrictModes no
            UsePAM no
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            PermitRootLogin prohibit-password

            """
        try folder.write(configuration, to: "sshd_config")
        let process = try ChildProcess("/usr/sbin/sshd", ["-D", "-e", "-f", folder.file("sshd_config")])
        self.process = process
        let isUp = try await eventually { !process.isRunning || process.error.contains("Server listening") }
        guard isUp, process.isRunning else { return nil }
    }

    /// Runs a command on the server by ssh, which reaches it through a program of ours.
    ///
    /// - Parameters:
    ///   - proxy: what ssh speaks the server with; `%h` and `%p` are its host and port.
    ///   - name: of the server, which the proxy alone need know.
    package func run(
        _ command: String, through proxy: String, to name: String, input: String? = nil
    ) async throws -> Outcome {
        try await run(command, ["-F", "none", "-o", "ProxyCommand=\(proxy)"], to: name, input: input)
    }

    /// Runs a command on the server by ssh, which finds its way in a configuration file.
    package func run(_ command: String, configuredBy file: String, to name: String) async throws -> Outcome {
        try await run(command, ["-F", file], to: name)
    }

    private func run(
        _ command: String, _ way: [String], to name: String, input: String? = nil
    ) async throws -> Outcome {
        try await ChildProcess(
            "/usr/bin/ssh",
            way + [
                "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o",
                "IdentitiesOnly=yes", "-o", "LogLevel=ERROR", "-i", folder.file("user"), "-p", "\(port)",
                "\(user)@\(name)", command,
            ], input: input
        ).outcome(within: .seconds(60))
    }
}
