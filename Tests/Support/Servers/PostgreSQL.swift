internal import Foundation
internal import Glibc
internal import SallyportBase

/// A real PostgreSQL on a loopback address, which takes TLS only; stopped with this value.
package final class PostgreSQL: Sendable {
    package static let user = "ann"
    package static let password = "figures of today"

    package let port: UInt16
    private let process: ChildProcess

    /// - Parameters:
    ///   - folder: its files are put there.
    ///   - identity: what it shows in TLS.
    ///   - isPromoted: it has been a standby before, so its timeline is 2.
    ///   - settings: more of them, as `name=value`.
    package static func start(
        on address: String, in folder: TemporaryDirectory, showing identity: TestIdentity, isPromoted: Bool = false,
        settings: [String] = []
    ) async throws -> PostgreSQL {
        guard let programs else { throw Unexpected("PostgreSQL is not installed") }
        let (data, template) = (folder.file("postgresql"), try await template.value)
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
        // Others may go through the folder, and PostgreSQL's user has this part of it.
        try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: folder.path)
        let made = try await ChildProcess(
            "/bin/bash",
            [
                "-c",
                """
                set -e
                cd '\(data)'
                if [ "$(id -u)" -eq 0 ]; then chown nobody .; fi
                cp -a '\(template.file("cluster"))' .
                \(isPromoted ? "\(asUser) touch cluster/standby.signal" : "")
                """,
            ]
        ).outcome(within: .seconds(30))
        guard made.status == 0 else { throw Unexpected("cp: \(made.error)") }
        for (name, text) in [("cert.pem", try identity.pem), ("key.pem", identity.keyPEM)] {
            try folder.write(text, to: "postgresql/\(name)")
        }
        try folder.write("hostssl all all all scram-sha-256\n", to: "postgresql/hba.conf")
        let owned = try await ChildProcess(
            "/bin/bash",
            [
                "-c",
                """
                cd '\(data)' && chmod 600 key.pem && if [ "$(id -u)" -eq 0 ]; then chown nobody *.pem hba.conf; fi
                """,
            ]
        ).outcome()
        guard owned.status == 0 else { throw Unexpected("chown: \(owned.error)") }
        for _ in 0..<10 {
            let port = LoopbackPort.free()
            if let server = try await PostgreSQL(programs, address, port, data, settings) { return server }
        }
        throw Unexpected("postgres found no port")
    }

    /// A new cluster, of which each server has a copy: initdb takes ten times as long as the copy.
    private static let template = Task {
        guard let programs else { throw Unexpected("PostgreSQL is not installed") }
        let folder = try TemporaryDirectory()
        templatePath.withLock { $0 = folder.path }
        atexit { templatePath.withLock { path in try? FileManager.default.removeItem(atPath: path) } }
        try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: folder.path)
        try folder.write(password, to: "password")
        let script = """
            set -e
            cd '\(folder.path)'
            mkdir -m 700 cluster
            if [ "$(id -u)" -eq 0 ]; then chown nobody cluster password; fi
            \(asUser) \(programs)/initdb -D cluster -U \(user) --pwfile=password --auth=scram-sha-256 --wal-segsize=1 \
                --no-sync --locale=C
            """
        let made = try await ChildProcess("/bin/bash", ["-c", script]).outcome(within: .seconds(60))
        guard made.status == 0 else { throw Unexpected("initdb: \(made.error)") }
        return folder
    }

    /// The folder of the template. A static value is never deinitialized, so the folder is removed when the process ends.
    private static let templatePath = Lock("")

    private init?(
        _ programs: String, _ address: String, _ port: UInt16, _ data: String, _ others: [String]
    ) async throws {
        self.port = port
        let settings = [
            "listen_addresses=\(address)", "port=\(port)", "unix_socket_directories=", "ssl=on",
            "ssl_cert_file=\(data)/cert.pem", "ssl_key_file=\(data)/key.pem", "hba_file=\(data)/hba.conf", "fsync=off",
            "shared_buffers=16MB", "dynamic_shared_memory_type=mmap", "logging_collector=off",
        ]
        let arguments = (settings + others).map { "-c '\($0)'" }.joined(separator: " ")
        // SIGTERM, by which tests end their children, would make the server wait until all clients have left.
        let script = """
            cd '\(data)'
            \(Self.asUser) \(programs)/postgres -D cluster \(arguments) & server=$!
            trap 'kill -QUIT $server' TERM
            while [ -e cluster/standby.signal ] && kill -0 $server; do
                \(Self.asUser) \(programs)/pg_ctl promote -D cluster || sleep 0.1
            done
            wait $server
            wait $server
            """
        process = try ChildProcess("/bin/bash", ["-c", script])
        let process = process
        let isUp = try await eventually(within: .seconds(15)) {
            !process.isRunning || process.error.contains("ready to accept connections")
        }
        guard isUp, process.isRunning else { return nil }
    }

    /// It refuses to run as root.
    private static var asUser: String {
        geteuid() == 0 ? "setpriv --reuid nobody --regid nogroup --clear-groups" : ""
    }

    /// Debian and Ubuntu have a folder of its programs for each version, which is not on the path.
    private static let programs: String? = {
        let folder = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let found = versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(folder)/\($0)/bin" }
        return (found + ["/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin"]).first {
            FileManager.default.isExecutableFile(atPath: "\($0)/initdb")
        }
    }()
}
