internal import Foundation
internal import Glibc

/// A real Apache httpd with mod_auth_gssapi, stopped with this value. Below `/vault/` it wants a ticket.
package final class KerberosApache: Sendable {
    package let port: UInt16
    private let folder: TemporaryDirectory
    private let process: ChildProcess

    /// - Parameters:
    ///   - keytab: of its names.
    ///   - address: where it listens too.
    package static func start(keytab: String, of kdc: TestKDC, address: String? = nil) async throws -> KerberosApache {
        for _ in 0..<10 {
            let port = UInt16.random(in: 20_000..<32_000)
            if let apache = try await KerberosApache(port, keytab, kdc, address) { return apache }
        }
        throw Unexpected("apache2 found no port")
    }

    private init?(_ port: UInt16, _ keytab: String, _ kdc: TestKDC, _ address: String?) async throws {
        self.port = port
        folder = try TemporaryDirectory()
        // Its children are another user.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        for name in ["vault", "delegated"] {
            try FileManager.default.createDirectory(
                atPath: folder.file(name), withIntermediateDirectories: true, attributes: nil)
            // As it says, whatever the mask of this process.
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.file(name))
        }
        try folder.write("inside", to: "vault/page")
        try folder.write(Self.configuration(folder.path, port, keytab, address), to: "httpd.conf")
        var environment = kdc.serviceEnvironment
        // Without a replay cache: its name would be shared with what ran here before.
        environment["KRB5RCACHENAME"] = "none:"
        let process = try ChildProcess(
            "/usr/bin/env", ["apache2", "-X", "-f", folder.file("httpd.conf")], environment: environment)
        self.process = process
        let isUp = try await eventually(within: .seconds(20)) { !process.isRunning || LoopbackPort.isTaken(port) }
        guard isUp, try await !eventually(within: .milliseconds(300), { !process.isRunning }) else { return nil }
    }

    package func url(_ path: String = "/vault/page", host: String = "localhost") -> String {
        "http://\(host):\(port)\(path)"
    }

    /// The lines of its log: status, user and target.
    package var log: [String] { text("access.log").split(separator: "\n").map(String.init) }
    package var errors: String { text("error.log") }

    /// Whether somebody gave it a ticket to act for them.
    package var hasDelegated: Bool {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.file("delegated"))
        return names?.isEmpty == false
    }

    private func text(_ name: String) -> String {
        (try? String(contentsOfFile: folder.file(name), encoding: .utf8)) ?? ""
    }

    private static func configuration(
        _ path: String, _ port: UInt16, _ keytab: String, _ address: String?
    ) -> String {
        let modules = ["mpm_event", "authn_core", "authz_core", "authz_user", "auth_gssapi"]
            .map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so" }.joined(separator: "\n")
        return """
            ServerRoot \(path)
            ServerName localhost
            Listen 127.0.0.1:\(port)
            \(address.map { "Listen \($0):\(port)" } ?? "")
            PidFile \(path)/httpd.pid
            ErrorLog \(path)/error.log
            LogLevel notice auth_gssapi:debug
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
            <Location /vault/>
                AuthType GSSAPI
                AuthName "the vault"
                GssapiCredStore keytab:\(keytab)
                GssapiAllowedMech krb5
                GssapiDelegCcacheDir \(path)/delegated
                Require valid-user
            </Location>
            """
    }
}
