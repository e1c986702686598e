internal import Crypto
internal import Foundation
internal import Glibc

/// A real Apache httpd with mod_auth_digest, stopped with this value. Below `/vault/` and `/short/` it asks for the user.
package final class Apache: Sendable {
    package let port: UInt16
    private let folder: TemporaryDirectory
    private let process: ChildProcess

    /// - Parameters:
    ///   - user: the one user.
    ///   - lifetime: how long a nonce of `/short/` is taken, in seconds.
    package static func start(user: (name: String, password: String), lifetime: Int = 1) async throws -> Apache {
        for _ in 0..<10 {
            let port = UInt16.random(in: 20_000..<32_000)
            if let apache = try await Apache(port, user, lifetime) { return apache }
        }
        throw Unexpected("apache2 found no port")
    }

    private init?(_ port: UInt16, _ user: (name: String, password: String), _ lifetime: Int) async throws {
        self.port = port
        folder = try TemporaryDirectory()
        // Its children are another user.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        let key = Insecure.MD5.hash(data: Data("\(user.name):\(Self.realm):\(user.password)".utf8))
        let digits = key.map { String(format: "%02x", $0) }.joined()
        try folder.write("\(user.name):\(Self.realm):\(digits)\n", to: "users")
        for name in ["vault", "short"] {
            try FileManager.default.createDirectory(
                atPath: folder.file(name), withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o777])
            try folder.write("inside", to: "\(name)/page")
        }
        try folder.write(Self.configuration(folder.path, port, lifetime), to: "httpd.conf")
        // One process, which ends at once.
        let process = try ChildProcess(
            "/usr/bin/env", ["apache2", "-X", "-f", folder.file("httpd.conf")],
            environment: ["PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"])
        self.process = process
        let isUp = try await eventually(within: .seconds(20)) { !process.isRunning || LoopbackPort.isTaken(port) }
        guard isUp, try await !eventually(within: .milliseconds(300), { !process.isRunning }) else { return nil }
    }

    package static let realm = "the vault"

    /// The lines of its log: status, user and target.
    package var log: [String] { text("access.log").split(separator: "\n").map(String.init) }

    private func text(_ name: String) -> String {
        (try? String(contentsOfFile: folder.file(name), encoding: .utf8)) ?? ""
    }

    private static func configuration(_ path: String, _ port: UInt16, _ lifetime: Int) -> String {
        let modules = ["mpm_event", "authn_core", "authn_file", "authz_core", "authz_user", "auth_digest"]
            .map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n")
        func location(_ name: String, _ settings: String) -> String {
            """
            <Location /\(name)/>
                AuthType Digest
                AuthName "\(realm)"
                AuthDigestProvider file
                AuthUserFile \(path)/users
                \(settings)
                Require valid-user
            </Location>
            """
        }
        return """
            ServerRoot \(path)
            ServerName localhost
            Listen 127.0.0.1:\(port)
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
            \(location("vault", "AuthDigestDomain /vault/"))
            \(location("short", "AuthDigestNonceLifetime \(lifetime)"))
            """
    }
}
