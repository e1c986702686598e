internal import Foundation
internal import Glibc

/// A real Apache httpd, stopped with this value: one process, which ends at once.
package final class Apache: Sendable {
    package let port: UInt16
    private let folder: TemporaryDirectory
    private let process: ChildProcess

    /// What a kind of it adds.
    struct Settings: Sendable {
        /// Beyond those that every kind has.
        var modules: [String]
        /// Folders below its root, each with a file `page` whose text is `inside`.
        var pages: [String]
        /// Folders that its children write to.
        var folders: [String] = []
        /// Files of its root by their names.
        var files: [String: String] = [:]
        /// Where it listens beside the loopback.
        var address: String?
        var environment: [String: String] = [:]
        var network: NetworkNamespace?
        /// For a path of the root.
        var locations: @Sendable (String) -> String
    }

    static func start(_ settings: Settings) async throws -> Apache {
        for _ in 0..<10 {
            let port = LoopbackPort.free()
            if let apache = try await Apache(port, settings) { return apache }
        }
        throw Unexpected("apache2 found no port")
    }

    private init?(_ port: UInt16, _ settings: Settings) async throws {
        self.port = port
        folder = try TemporaryDirectory()
        // Its children are another user, whatever the mask of this process.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        for name in settings.pages + settings.folders {
            let path = folder.file(name)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
        }
        for name in settings.pages { try folder.write("inside", to: "\(name)/page") }
        for (name, text) in settings.files { try folder.write(text, to: name) }
        try folder.write(Self.configuration(folder.path, port, settings), to: "httpd.conf")
        let path = ["PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"]
        let process = try ChildProcess(
            "/usr/bin/env", ["apache2", "-X", "-f", folder.file("httpd.conf")],
            environment: path.merging(settings.environment) { $1 }, in: settings.network)
        self.process = process
        let isUp = try await eventually(within: .seconds(20)) { !process.isRunning || process.listens(at: port) }
        // Apache ends if another program has taken its port: the caller tries the next port.
        guard isUp, process.isRunning else { return nil }
    }

    package func url(_ path: String = "/vault/page", host: String = "localhost") -> String {
        "http://\(host):\(port)\(path)"
    }

    /// The lines of its log: status, user and target.
    package var log: [String] { text("access.log").split(separator: "\n").map(String.init) }
    package var errors: String { text("error.log") }

    /// What lies in a folder of its root.
    package func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: self.folder.file(folder))) ?? []
    }

    private func text(_ name: String) -> String {
        (try? String(contentsOfFile: folder.file(name), encoding: .utf8)) ?? ""
    }

    private static func configuration(_ path: String, _ port: UInt16, _ settings: Settings) -> String {
        let modules = (["mpm_event", "authn_core", "authz_core", "authz_user"] + settings.modules)
            .map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n")
        return """
            ServerRoot \(path)
            ServerName localhost
            Listen 127.0.0.1:\(port)
            \(settings.address.map { "Listen \($0):\(port)" } ?? "")
            PidFile \(path)/httpd.pid
            ErrorLog \(path)/error.log
            LogLevel notice
            DefaultRuntimeDir \(path)
            \(modules)
            \(getuid() == 0 ? "User www-data\nGroup www-data" : "")
            StartServers 1
            DocumentRoot \(path)
            LogFormat "%>s %u %U%q" line
            CustomLog \(path)/access.log line
            <Directory \(path)>
                Require all granted
            </Directory>
            \(settings.locations(path))
            """
    }
}
