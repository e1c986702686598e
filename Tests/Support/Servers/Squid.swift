internal import Foundation

/// A real Squid, stopped with this value: an HTTP proxy to the loopback, in the clear and over TLS.
package final class Squid: Sendable {
    package let port: UInt16
    /// Where TLS is spoken with it, for `localhost`.
    package let securePort: UInt16
    /// The authentication that it requires.
    package enum Asking: Sendable {
        /// One user, with a password that holds no colon.
        case basic(user: String, password: String), digest(user: String, password: String)
        /// Accepts every ticket of the realm for `HTTP/localhost`.
        case negotiate(keytab: String, of: TestKDC)
    }

    private let folder: TemporaryDirectory
    private let process: ChildProcess

    /// - Parameters:
    ///   - identity: its certificate.
    ///   - asking: nil to accept all clients.
    package static func start(_ identity: TestIdentity, asking: Asking? = nil) async throws -> Squid {
        for _ in 0..<10 {
            let (port, securePort) = (LoopbackPort.free(), LoopbackPort.free())
            if let squid = try await Squid(port, securePort, identity, asking) { return squid }
        }
        throw Unexpected("squid found no port")
    }

    private init?(
        _ port: UInt16, _ securePort: UInt16, _ identity: TestIdentity, _ asking: Asking?
    ) async throws {
        (self.port, self.securePort) = (port, securePort)
        folder = try TemporaryDirectory()
        // Squid gives up being root, and its child writes the log.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        try folder.write(identity.pem, to: "certificate.pem")
        try folder.write(identity.keyPEM, to: "key.pem")
        var environment = ["PATH": "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"]
        switch asking {
        case nil: break
        case .basic(let user, let password): try folder.write("\(user):\(Self.hash(password))\n", to: "users")
        case .digest(let user, let password): try folder.write("\(user):\(password)\n", to: "users")
        case .negotiate(_, let kdc):
            // Without a replay cache: its name would be shared with what ran here before.
            environment.merge(kdc.serviceEnvironment) { $1 }
            environment["KRB5RCACHENAME"] = "none:"
        }
        try folder.write(Self.configuration(folder.path, port, securePort, asking), to: "squid.conf")
        process = try ChildProcess(
            "/usr/bin/env", ["squid", "-N", "-f", folder.file("squid.conf"), "-n", "test\(port)"],
            environment: environment)
        let isUp = try await eventually(within: .seconds(20)) {
            // It says that it accepts connections a moment before it listens, and logs each connection.
            !process.isRunning
                || started.contains("Accepting HTTPS Socket connections") && LoopbackPort.isListening(port)
                    && LoopbackPort.isListening(securePort)
        }
        // It goes on with one of the two where another has the other.
        guard isUp, process.isRunning, started.contains("Accepting HTTP Socket connections"),
            !started.contains("FATAL")
        else { return nil }
    }

    /// The lines of its log: status, method, target, user.
    package var log: [String] { text("access.log").split(separator: "\n").map(String.init) }

    private var started: String { text("cache.log") }

    private func text(_ name: String) -> String {
        (try? String(contentsOfFile: folder.file(name), encoding: .utf8)) ?? ""
    }

    /// SHA-256 of crypt(3), as `openssl passwd -5` makes it.
    private static func hash(_ password: String) throws -> String {
        let child = Process()
        child.executableURL = URL(filePath: "/usr/bin/env")
        child.arguments = ["openssl", "passwd", "-5", password]
        let output = Pipe()
        child.standardOutput = output
        try child.run()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        child.waitUntilExit()
        return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func programs(_ path: String, _ asking: Asking) -> String {
        let (scheme, program) =
            switch asking {
            case .basic: ("basic", "basic_ncsa_auth \(path)/users")
            case .digest: ("digest", "digest_file_auth \(path)/users")
            case .negotiate(let keytab, _): ("negotiate", "negotiate_kerberos_auth -k \(keytab) -s HTTP/localhost")
            }
        return """
            auth_param \(scheme) program /usr/lib/squid/\(program)
            \(scheme == "negotiate" ? "" : "auth_param \(scheme) realm the proxy")
            auth_param \(scheme) children 1
            acl known proxy_auth REQUIRED
            http_access allow known
            http_access deny all
            """
    }

    private static func configuration(
        _ path: String, _ port: UInt16, _ securePort: UInt16, _ asking: Asking?
    ) -> String {
        """
        http_port 127.0.0.1:\(port)
        https_port 127.0.0.1:\(securePort) tls-cert=\(path)/certificate.pem tls-key=\(path)/key.pem
        \(asking.map { programs(path, $0) } ?? "http_access allow all")
        cache deny all
        cache_mem 0 MB
        memory_cache_shared off
        logformat line %>Hs %rm %ru %un
        access_log stdio:\(path)/access.log line
        cache_log \(path)/cache.log
        buffered_logs off
        pid_filename none
        pinger_enable off
        shutdown_lifetime 0 seconds
        coredump_dir none
        visible_hostname test
        """
    }
}

/// A real SOCKS 5 server, stopped with this value.
package final class MicroSocks: Sendable {
    package let port: UInt16
    private let process: ChildProcess

    /// - Parameter user: the only user; nil to accept all clients.
    package static func start(user: (name: String, password: String)? = nil) async throws -> MicroSocks {
        for _ in 0..<10 {
            let port = LoopbackPort.free()
            if let server = try await MicroSocks(port, user) { return server }
        }
        throw Unexpected("microsocks found no port")
    }

    private init?(_ port: UInt16, _ user: (name: String, password: String)?) async throws {
        self.port = port
        let users = user.map { ["-u", $0.name, "-P", $0.password] } ?? []
        process = try ChildProcess("/usr/bin/env", ["microsocks", "-i", "127.0.0.1", "-p", "\(port)"] + users)
        let isUp = try await eventually { !process.isRunning || LoopbackPort.isTaken(port) }
        guard isUp, process.isRunning else { return nil }
    }

    /// A line for each connection that it made, with the name that it was asked for.
    package var log: String { process.error }
}
